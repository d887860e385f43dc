// What the sources use of the Objective-C runtime: developer.apple.com/documentation/objectivec, pages of the names below.

public enum objc_AssociationPolicy: Sendable { case OBJC_ASSOCIATION_ASSIGN, OBJC_ASSOCIATION_RETAIN_NONATOMIC, OBJC_ASSOCIATION_RETAIN }
func objc_setAssociatedObject(_ object: Any, _ key: UnsafeRawPointer, _ value: Any?, _ policy: objc_AssociationPolicy)
