import Foundation

/// The response of a shop's API, of any size: the same model for every way that is measured.
struct Catalogue: Codable, Sendable {
    struct Item: Codable, Sendable {
        let id: Int
        let title: String
        let description: String
        let price: Double
        let tags: [String]
        let available: Bool
        let seller: Seller
        let discount: Double?
    }

    struct Seller: Codable, Sendable {
        let id: Int
        let name: String
        let rating: Double
    }

    let total: Int
    let items: [Item]
    let summary: Seller

    /// Whether the model is the one that ``body(ofAtLeast:code:)`` describes; so the optimizer cannot remove the work.
    func isWhole(_ count: Int) -> Bool { items.count == count && items.last?.id == count - 1 && summary.id == 77 }

    /// An envelope around a catalogue.
    ///
    /// - Parameters:
    ///   - byteCount: What the body has at least.
    ///   - code: The service's code.
    /// - Returns: The body, and the number of items in it.
    static func body(ofAtLeast byteCount: Int, code: Int = 0) -> (data: Data, itemCount: Int) {
        let head = #"{"code":\#(code),"msg":"ok","time":1714564800,"data":{"total":4711,"items":["#
        let tail = #"],"summary":{"id":77,"name":"All sellers","rating":4.25}}}"#
        var text = head
        var count = 0
        while text.utf8.count + tail.utf8.count < byteCount || count == 0 {
            text += (count == 0 ? "" : ",") + item(count)
            count += 1
        }
        return (Data((text + tail).utf8), count)
    }

    private static func item(_ id: Int) -> String {
        #"{"id":\#(id),"title":"Teapot no. \#(id)","description":"Holds \#(id % 7 + 1) cups; \"hand made\" in Köln, "#
            + #"with a lid that stays on while pouring.","price":\#(id % 90 + 9).95,"tags":["tea","kitchen","n\#(id)"],"#
            + #""available":\#(id % 3 != 0),"seller":{"id":\#(id % 50),"name":"Pots & Söhne","rating":4.\#(id % 10)},"#
            + #""discount":\#(id % 4 == 0 ? "null" : "0.15")}"#
    }
}
