/// What a decoding reads of the objects of a text, so that a tool can report the members that a model does not know.
package final class JSONReads {
    /// The words of objects that were asked for members, and of the names that were found.
    var (objects, names): (Set<Int>, Set<Int>) = ([], [])

    /// The paths of the members that were not read, in their order.
    package private(set) var unread: [[any CodingKey]] = []

    package init() {}

    func finish(_ run: JSONRun) {
        for object in objects.sorted() {
            unread += run.members(object).filter { !names.contains($0) }.map { run.path(of: $0 &+ 1) }
        }
    }
}
