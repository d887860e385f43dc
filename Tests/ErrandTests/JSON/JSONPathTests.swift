import Testing

@testable import Errand

@Suite(.ownThread) struct JSONPathTests {
    /// The input of the worked examples of TCNetwork's parse path; its payload is the member `data`.
    private static let body = """
        {"code":0,"data":{"list":[{"id":1},{"id":2},{"id":3}],"total":"3","page":{"n":1},"e":[],"z":null,\
        "m":[[[1,2,3],[4,5,6]],[[7,8,9]]],"raw":"{\\"id\\":9}","s":"hi"}}
        """

    @Test(arguments: [
        ("~code", "0"),
        ("~.code", "0"),
        ("#.list()", #"[{"id":1},{"id":2},{"id":3}]"#),
        ("#list", #"[{"id":1},{"id":2},{"id":3}]"#),
        ("~data.list", #"[{"id":1},{"id":2},{"id":3}]"#),
        ("#.list[1].id", "2"),
        ("#.list[-1].id", "3"),
        ("#.list(1,1)", #"[{"id":2}]"#),
        ("#.list(1,0)", #"[{"id":2},{"id":3}]"#),
        ("#.list(-2,2)", #"[{"id":2},{"id":3}]"#),
        ("#.list[1,1]", #"[{"id":2}]"#),
        ("#.m[0](0,2)[1][2]", "6"),
        ("#.m[0][1](1,2)", "[5,6]"),
        ("#.raw|json", #"{"id":9}"#),
        ("#.raw|json.id", "9"),
        ("#.z", "null"),
        ("#.e()", "[]"),
        ("~data.page.n", "1"),
    ])
    func workedExamplesHoldAsInTCNetwork(path: String, expected: String) throws {
        #expect(try find(path) == expected)
    }

    @Test(arguments: [
        // In TCNetwork a path without a prefix starts at the root; here at the payload.
        ("list", #"[{"id":1},{"id":2},{"id":3}]"#),
        // There a range of an empty array is error -16819.
        ("#.e(0,0)", "[]"),
        // There `(1)` names an element and asserts an array, which is always error -16811; here it is `[1]`.
        ("#.list(1)", #"{"id":2}"#),
        // There the target class may replace the string by its content; here only `|json` does.
        ("#.raw", #""{\"id\":9}""#),
    ])
    func workedExamplesGiveMoreThanInTCNetwork(path: String, expected: String) throws {
        #expect(try find(path) == expected)
    }

    @Test(arguments: [
        // Nothing, without an error, in TCNetwork.
        ("#.nope.x", JSONError.Reason.missing, "nope"),
        ("#.nope()", .missing, "nope"),
        ("code", .missing, "code"),
        // There the index is clamped to the first element, which gives 1.
        ("#.list[-9].id", .indexOutOfRange(index: -9, count: 3), "list"),
        // There a scalar passes through the names behind it, which gives the string.
        ("#.raw.id", .typeMismatch(expected: "an object", found: "a string"), "raw"),
        // Errors there too, by number: -16819, -16818, -16816, -16816, -16811, -16811, -16816, -16815.
        ("#.list[5]", .indexOutOfRange(index: 5, count: 3), "list"),
        ("#.nope[0]", .missing, "nope"),
        ("#.list.id", .typeMismatch(expected: "an object", found: "an array"), "list"),
        ("#.z.a", .null, "z"),
        ("#.total()", .typeMismatch(expected: "an array", found: "a string"), "total"),
        ("()", .typeMismatch(expected: "an array", found: "an object"), ""),
        ("#.e[0]", .indexOutOfRange(index: 0, count: 0), "e"),
        ("~()", .typeMismatch(expected: "an array", found: "an object"), "~"),
        ("#.list(4,1)", .indexOutOfRange(index: 4, count: 3), "list"),
        ("~.data.nope", .missing, "~data.nope"),
    ])
    func workedExamplesFailTheCall(path: String, reason: JSONError.Reason, place: String) throws {
        let error = try #require(throws: JSONError.self) { try find(path) }
        #expect(error.reason == reason)
        #expect(error.path == place)
    }

    @Test(arguments: [".", ".code", "#.total?n", "#.productList.total?total", "a..b"])
    func spellingsOfTCNetworkThatAreRejected(path: String) {
        #expect(throws: JSONError.self) { try JSONPath(path) }
    }

    @Test func arrayAtTheRoot() throws {
        #expect(try find("[0].a", in: #"[{"a":1}]"#, payload: nil) == "1")
        #expect(throws: JSONError.self) { try find("a", in: #"[{"a":1}]"#, payload: nil) }
        #expect(try find("()", in: "[]", payload: nil) == "[]")
    }

    @Test func examplesOfTheReadme() throws {
        let body = #"""
            {"origin":"1.2.3.4","data":{"views":12,"shop":{"product":{"id":5}},
            "list":[[0,1,[0,1,2],3,[40,41,42,43,44,45,46,47],5,6,7,8,9]],"seven":[0,1,2,3,4,5,6,7,8,9],
            "productList":{"list":[1],"total":"1"},"indexProduct":{"list":[2]},"shopStoreEntity":{"id":6}}}
            """#
        #expect(try find("~origin", in: body) == #""1.2.3.4""#)
        #expect(try find("origin", in: body, payload: nil) == #""1.2.3.4""#)
        #expect(try find("shop.product", in: body) == #"{"id":5}"#)
        #expect(try find("data.shop.product", in: body, payload: nil) == #"{"id":5}"#)
        #expect(try find("#.views", in: body) == "12")
        #expect(try find("list[0](1,8)[3](3,4)", in: body) == "[43,44,45,46]")
        #expect(try find("seven(-7,7)", in: body) == "[3,4,5,6,7,8,9]")
        #expect(try find("seven(-7,0)", in: body) == "[3,4,5,6,7,8,9]")
        #expect(try find("seven[-5]", in: body) == "5")
        #expect(try find("seven(-5)", in: body) == "5")
        #expect(try find("#.productList.list()", in: body) == "[1]")
        #expect(try find("#.productList.total", in: body) == #""1""#)
        #expect(try find("#.indexProduct.list()", in: body) == "[2]")
        #expect(try find("#.shopStoreEntity", in: body) == #"{"id":6}"#)
    }

    @Test(arguments: [
        ("list.*.id", "[1,2,3]"),
        ("list.*", #"[{"id":1},{"id":2},{"id":3}]"#),
        ("page.*", "[1]"),
        ("e.*.id", "[]"),
        ("m.*.*.*", "[1,2,3,4,5,6,7,8,9]"),
        ("m.*.*[-1]", "[3,6,9]"),
        ("m.*(0,1)", "[[[1,2,3]],[[7,8,9]]]"),
        ("list(1,0).*.id", "[2,3]"),
        ("list(9,0)", nil),
        ("list(3,0)", "[]"),
        ("list(3,0).*", "[]"),
        ("list( 1 , 1 )", #"[{"id":2}]"#),
        ("list(,2)[0].id", "1"),
        ("list(2,).*.id", "[3]"),
    ])
    func projectionsAndRangesAssembleArrays(path: String, expected: String?) throws {
        guard let expected else {
            #expect(throws: JSONError.self) { try find(path) }
            return
        }
        #expect(try find(path) == expected)
    }

    @Test func plainPathIsARangeOfTheText() throws {
        let body = Array(#"{"a": {"b" : [ 1, 22 ]}}"#.utf8)
        let match = try body.withUnsafeBytes { try JSONPath("a.b[1]").range(in: $0) }
        guard case .range(let range) = match else { throw Unexpected("no range") }
        #expect(body[range].elementsEqual("22".utf8))
    }

    @Test func missingAndNullAreDistinguished() throws {
        #expect(try findOptional("nope") == nil)
        #expect(try findOptional("nope.x.y") == nil)
        #expect(try findOptional("nope[3]") == nil)
        #expect(try findOptional("z") == "null")
        #expect(try findOptional("z.a") == nil)
        #expect(try findOptional("nope.*.id") == nil)
        #expect(try findOptional("z.*.id") == nil)
        #expect(try findOptional("z|json") == nil)
        #expect(try findOptional("z[0]") == nil)
        #expect(try findOptional("s") == #""hi""#)
    }

    @Test(arguments: ["list[5]", "s.x", "list.*.nope", "raw|json.nope", "s|json"])
    func anOptionalValueDoesNotHideMistakes(path: String) {
        #expect(throws: JSONError.self) { try findOptional(path) }
    }

    @Test func errorsAfterAProjectionNameTheElement() throws {
        let body = #"{"a":[{"b":{"c":1}},{"b":{}}]}"#
        let error = try #require(throws: JSONError.self) { try find("a.*.b.c", in: body, payload: nil) }
        #expect(error.path == "a[1].b.c")
        #expect(error.reason == .missing)
    }

    @Test func textInsideAStringIsValidated() throws {
        let body = #"{"deep":"[[[]]]","wrong":"[1,]","twice":"\"[1,\\\"é\\\"]\"","not":5}"#
        #expect(try find("twice|json|json[1]", in: body, payload: nil) == #""é""#)
        #expect(try find("deep|json[0]", in: body, payload: nil) == "[[]]")
        for path in ["wrong|json", "not|json"] {
            #expect(throws: JSONError.self) { try find(path, in: body, payload: nil) }
        }
        let depth = try #require(throws: JSONError.self) {
            try Array(body.utf8).withUnsafeBytes { try JSONPath("deep|json").range(in: $0, maximumDepth: 2) }
        }
        #expect(depth.reason == .tooDeep(limit: 2))
        #expect(depth.path == "deep|json")
    }

    @Test func quotedNamesReachEveryMember() throws {
        let body =
            ##"{"a.b":{"say \"hi\"":{"":{"c[0]":{"it's":1}}}},"\u0061":2,"*":3,"#":4,"a?":5,"|":6," x":7,"é":8}"##
        let path = #""a.b"."say \"hi\"".""."c[0]".it's"#
        #expect(try find(path, in: body, payload: nil) == "1")
        #expect(try find("'a.b'.'say \"hi\"'.''.'c[0]'.'it\\'s'", in: body, payload: nil) == "1")
        for (path, value) in [
            ("a", "2"), ("'*'", "3"), ("'#'", "4"), ("'a?'", "5"), ("'|'", "6"), ("' x'", "7"), ("é", "8"),
        ] {
            #expect(try find(path, in: body, payload: nil) == value)
        }
        let names = JSONPath(names: ["a.b", "say \"hi\"", "", "c[0]", "it's"])
        #expect(try find(names.description, in: body, payload: nil) == "1")
        #expect(try JSONPath(names.description).get() == names.get())
    }

    @Test func firstOfRepeatedMembersCounts() throws {
        #expect(try find("a", in: #"{"a":1,"\u0061":2}"#, payload: nil) == "1")
    }

    @Test func emptyPathsAreTheirAnchors() throws {
        #expect(try find("~") == Self.body)
        #expect(try find("") == find("#"))
        #expect(try find("#") == find("~data"))
        #expect(try JSONPath("").get() == JSONPath.payload.get())
        #expect(try JSONPath("~").get() == JSONPath.root.get())
    }

    @Test func pathsToDifferentPlacesAreNotEqual() throws {
        let (one, other) = (JSONPath(names: ["\u{e9}"]), JSONPath(names: ["e\u{301}"]))
        #expect(try one.get() != other.get())
        #expect(one != other)
    }

    @Test func brokenTextNeverTraps() throws {
        let paths = ["a.b[0]", "a(1,2)", "a.*.b", "a|json.b", "[0]", "[-1]", "(0,0)", "*.*", "~a"]
        for text in [
            "", " ", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":[", "{\"a\":\"", "[", "]", "[1,", "\\",
            "{\"a\":\"\\",
        ] {
            for path in paths {
                // Any result but a trap is right, because such text is rejected before a path reads it.
                _ = try? find(path, in: text, payload: nil)
            }
        }
    }

    private func find(_ path: String, in body: String = body, payload: JSONPath? = "~data") throws -> String {
        try Array(body.utf8).withUnsafeBytes { bytes in
            let range = try payload.flatMap { try payloadRange($0, in: bytes) }
            return text(try JSONPath(path).range(in: bytes, payload: range), in: bytes)
        }
    }

    private func findOptional(_ path: String) throws -> String? {
        try Array(Self.body.utf8).withUnsafeBytes { bytes in
            let range = try payloadRange("data", in: bytes)
            return try JSONPath(path).optionalRange(in: bytes, payload: range).map { text($0, in: bytes) }
        }
    }

    private func payloadRange(_ path: JSONPath, in bytes: UnsafeRawBufferPointer) throws -> Range<Int>? {
        if case .range(let range) = try path.range(in: bytes) { range } else { nil }
    }

    private func text(_ match: JSONPath.Match, in bytes: UnsafeRawBufferPointer) -> String {
        switch match {
        case .range(let range): String(decoding: bytes[range], as: UTF8.self)
        case .assembled(let text): String(decoding: text, as: UTF8.self)
        }
    }
}
