import TestSupport
import Testing

@testable import Errand

/// Forms of a request's fields that mean the same (RFC 9111, section 4.1; RFC 9110, section 12.5).
@Suite(.ownThread) struct NormalizedFieldTests {
    private func value(_ name: String, _ lines: [String]) -> String? {
        NormalizedField.value(of: name, in: HTTPHeaders(lines.map { HTTPHeaders.Field(name: name, value: $0) }))
    }

    @Test(arguments: [
        ("Accept-Language", ["en, de"], ["de, en"]), ("Accept-Language", ["en, de"], ["eN,  De"]),
        ("accept-language", ["en,de"], ["en", "de"]), ("Accept-Language", ["de;q=0.5, en"], ["en, de; q=0.50"]),
        ("Accept-Language", ["en;q=1"], ["en"]), ("Accept-Language", ["en;q=1.000"], ["en"]),
        ("Accept-Language", ["en, , de,"], ["en, de, en"]),
        ("Accept", ["text/html , */*;q=0.1"], ["*/*;Q=0.1,TEXT/html"]),
        ("Accept", ["a/b;Level=1"], ["A/B; level=1"]), ("Accept-Encoding", ["gzip, br"], ["BR,gzip;q=1"]),
        ("X-Any", ["1, 2"], ["1", "2"]), ("X-Any", ["1,2"], [" 1 ,\t2 "]),
    ])
    func theseMeanTheSame(name: String, one: [String], other: [String]) {
        #expect(value(name, one) != nil && value(name, one) == value(name, other))
    }

    @Test(arguments: [
        ("Accept-Language", ["en, de"], ["en"]), ("Accept-Language", ["en, de;q=0.5"], ["en, de"]),
        ("Accept-Language", ["en;q=0.5, de"], ["en, de;q=0.5"]), ("Accept-Language", ["en;q=0"], ["en"]),
        ("Accept", ["a/b;x=\"a,b\""], ["a/b;x=\"a, b\""]), ("Accept", ["a/b;p=x"], ["a/b;p=X"]),
        ("Accept", ["a/b;q=1;x=1"], ["a/b;x=1"]), ("X-Any", ["1, 2"], ["2, 1"]), ("X-Any", ["a"], ["A"]),
        ("X-Any", ["a b"], ["ab"]), ("X-Any", ["\"a, b\""], ["\"a,b\""]), ("Cookie", ["a=1; b=2"], ["b=2; a=1"]),
        ("Authorization", ["Bearer a,b"], ["Bearer a, b"]), ("X-Any", [], [""]),
        ("X-Any", ["a,,b"], ["a,b"]), ("X-Any", [",a"], ["a,"]), ("Accept", ["a/b;q=500"], ["a/b;q=0.5"]),
    ])
    func theseDiffer(name: String, one: [String], other: [String]) {
        #expect(value(name, one) != value(name, other))
    }

    @Test(arguments: [",", ";", "\"", "\\", "a;q=0.1,", "a,", "\"\\", " "])
    func aLongFieldIsReadInTime(piece: String) {
        let text = String(repeating: piece, count: (1 << 15) / piece.utf8.count)
        // A mebibyte takes 0.5 s when optimized.
        #expect(threadTime { _ = value("Accept", [text]) } < .seconds(5))
    }
}
