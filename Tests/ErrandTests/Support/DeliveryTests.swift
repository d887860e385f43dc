import Testing

@testable import Errand

@Suite struct DeliveryTests {
    @Test func aValueThatComesBeforeItsReaderIsKept() async {
        let delivery = Delivery<Int>()
        #expect(!delivery.isDelivered)
        #expect(delivery.deliver(1))
        #expect(delivery.isDelivered)
        #expect(await delivery.value() == 1)
        #expect(delivery.isDelivered)
    }

    @Test func theFirstDeliveryCounts() async {
        let delivery = Delivery<Int>()
        #expect(delivery.deliver(1))
        #expect(!delivery.deliver(2))
        #expect(delivery.take() == 1)
        #expect(delivery.take() == nil)
        #expect(!delivery.deliver(3))
    }

    @Test func valueIsNotTakenBeforeItIsDelivered() {
        #expect(Delivery<Int?>().take() == nil)
        let delivery = Delivery<Int?>()
        delivery.deliver(nil)
        #expect(delivery.take() == .some(nil))
    }

    @Test func waitingReaderIsResumedOnceInAnyOrder() async {
        for round in 0..<2_000 {
            let delivery = Delivery<Int>()
            async let value = delivery.value()
            async let first = delivery.deliver(round)
            async let second = delivery.deliver(-round - 1)
            let (found, counts) = await (value, [first, second])
            #expect(counts.filter(\.self).count == 1)
            #expect(found == (counts[0] ? round : -round - 1))
        }
    }
}
