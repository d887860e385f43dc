/// A binary heap with the least element first.
struct Heap<Element: Comparable & Sendable>: Sendable {
    private var elements: [Element] = []

    var first: Element? { elements.first }
    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }

    /// Adds an element; if there are too many, invalid and repeated elements are removed before.
    mutating func insert(_ element: Element, limit: Int, counts: (Element) -> Bool) {
        if elements.count >= limit {
            // A sorted array is a valid heap.
            let sorted = elements.filter(counts).sortedUnspecialized(by: <)
            elements.removeAll(keepingCapacity: true)
            for element in sorted where elements.last != element { elements.append(element) }
        }
        elements.append(element)
        var place = elements.count - 1
        while place > 0, elements[place] < elements[(place - 1) / 2] {
            elements.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() {
        elements.swapAt(0, elements.count - 1)
        elements.removeLast()
        var place = 0
        while case let child = 2 * place + 1, child < elements.count {
            let next = child + 1 < elements.count && elements[child + 1] < elements[child] ? child + 1 : child
            guard elements[next] < elements[place] else { return }
            elements.swapAt(place, next)
            place = next
        }
    }

    /// Removes the first element while it satisfies the condition.
    mutating func removeFirst(while isSuch: (Element) -> Bool) {
        while let first, isSuch(first) { removeFirst() }
    }
}
