// What the sources use of Core Foundation: developer.apple.com/documentation/corefoundation, pages of the names below.
//
// A `String` is bridged to a `CFString` there, which needs Objective-C; here they are one type.

typealias CFString = String
typealias CFStringEncoding = UInt32
let kCFStringEncodingInvalidId: CFStringEncoding
func CFStringConvertIANACharSetNameToEncoding(_ theString: CFString!) -> CFStringEncoding
func CFStringIsEncodingAvailable(_ encoding: CFStringEncoding) -> Bool
func CFStringConvertEncodingToNSStringEncoding(_ encoding: CFStringEncoding) -> UInt
