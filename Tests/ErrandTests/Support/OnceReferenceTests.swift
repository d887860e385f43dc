import Testing

@testable import Errand

@Suite struct OnceReferenceTests {
    private final class Object: Sendable {
        let number: Int
        let deinitialized: Record<Int>

        init(_ number: Int, _ deinitialized: Record<Int>) {
            (self.number, self.deinitialized) = (number, deinitialized)
        }

        deinit { deinitialized.add(number) }
    }

    private final class Owner: Sendable {
        let reference = OnceReference<Object>()
    }

    @Test func theFirstObjectStays() {
        let deinitialized = Record<Int>()
        do {
            let owner = Owner()
            #expect(owner.reference.object == nil)
            owner.reference.set(Object(1, deinitialized))
            owner.reference.set(Object(2, deinitialized))
            #expect(owner.reference.object?.number == 1)
            #expect(deinitialized.all == [2])
        }
        #expect(deinitialized.all == [2, 1])
    }

    @Test func oneOfManyTasksSetsIt() async {
        for _ in 0..<200 {
            let (owner, deinitialized) = (Owner(), Record<Int>())
            let seen = await withTaskGroup(of: Int?.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        owner.reference.set(Object(number, deinitialized))
                        return owner.reference.object?.number
                    }
                }
                return await group.reduce(into: Set<Int?>()) { $0.insert($1) }
            }
            #expect(seen.count == 1)
            #expect(deinitialized.all.count == 7)
        }
    }
}
