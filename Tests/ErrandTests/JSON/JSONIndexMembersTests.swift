import Testing

@testable import Errand

@Suite struct JSONIndexMembersTests {
    @Test(arguments: [
        (#"{"code":0,"message":"ok","data":{"code":1}}"#, ["0", #""ok""#, #"{"code":1}"#]),
        (#" { "data" : [ 1 ] , "x" : {"message":1} , "code" : "7" } "#, [#""7""#, nil, "[ 1 ]"]),
        (#"{"\u0063ode":1,"m\u0065ssage":null,"dat\u0061":true}"#, ["1", "null", "true"]),
        ("{}", [nil, nil, nil]),
        (#"{"cod":1,"codes":2,"\u0063od":3,"Code":4,"datä":5}"#, [nil, nil, nil]),
    ])
    func membersAreFoundInOnePass(text: String, expected: [String?]) throws {
        #expect(try members(["code", "message", "data"], in: text) == expected)
    }

    @Test(arguments: [
        #"{"code":0,"code":0}"#, #"{"code":0,"\u0063ode":1}"#, #"{"\u0063ode":0,"data":1,"c\u006fde":1}"#,
        #"{"c\u006Fde":0,"code":{}}"#,
    ])
    func repeatedWantedMemberIsRejectedInAnySpelling(text: String) throws {
        let error = try #require(throws: JSONError.self) { try members(["data", "code"], in: text) }
        #expect(error.reason == .duplicateMember("code"))
    }

    @Test func otherMembersMayRepeat() throws {
        #expect(try members(["code"], in: #"{"a":1,"a":2,"code":3,"x":{"code":1,"code":2}}"#) == ["3"])
    }

    @Test(arguments: ["[]", "1", "\"{}\"", "null", " [1] "])
    func aValueThatIsNoObjectHasNoMembers(text: String) throws {
        #expect(try members(["code"], in: text) == nil)
    }

    @Test(arguments: [
        (#"{"s":{"code":0,"msg":"a"},"d":{"list":[1]}}"#, ["0", #""a""#, "[1]", #"{"code":0,"msg":"a"}"#]),
        (#"{"d":{"x":{"list":1},"l\u0069st":[2]},"s":7}"#, [nil, nil, "[2]", "7"]),
        (#"{"s":{},"d":null}"#, [nil, nil, nil, "{}"]),
        (#"{"s":[{"code":1}],"d":{"s":{"code":1}}}"#, [nil, nil, nil, #"[{"code":1}]"#]),
    ])
    func membersOfMembersAreFoundInTheSamePass(text: String, expected: [String?]) throws {
        #expect(try nested(in: text) == expected)
    }

    @Test(arguments: [
        (#"{"s":{"code":0,"c\u006fde":1}}"#, "code"), (#"{"s":{"code":0},"s":{"msg":1}}"#, "s"),
        (#"{"s":1,"d":{"list":1},"\u0064":2}"#, "d"), (#"{"d":{"list":1,"list":{}}}"#, "list"),
    ])
    func repeatedMemberOnThePathIsRejected(text: String, name: String) throws {
        let error = try #require(throws: JSONError.self) { try nested(in: text) }
        #expect(error.reason == .duplicateMember(name))
    }

    @Test(arguments: [
        #"{"s":{"code":0,}}"#, #"{"s":{"code":0"#, #"{"s":{"code"}}"#, #"{"s":{"code":0}"#, #"{"s":{code:0}}"#,
    ])
    func nestedObjectsAreValidatedToo(text: String) {
        #expect(throws: JSONError.self) { try nested(in: text) }
    }

    @Test func nestedObjectsCountForTheDepth() throws {
        let error = try #require(throws: JSONError.self) {
            try nested(in: #"{"s":{"code":[1]}}"#, maximumDepth: 2)
        }
        #expect(error.reason == .tooDeep(limit: 2))
        #expect(throws: JSONError.self) { try nested(in: #"{"s":{"code":1}}"#, maximumDepth: 1) }
        #expect(throws: Never.self) { try nested(in: #"{"s":{"code":1}}"#, maximumDepth: 2) }
    }

    private func nested(in text: String, maximumDepth: Int = 128) throws -> [String?]? {
        var tree = JSONMemberTree()
        let slots = [["s", "code"], ["s", "msg"], ["d", "list"], ["s"]].map { tree.insert($0.map { JSONName($0) }) }
        return try Array(text.utf8).withUnsafeBytes { bytes in
            let found = try JSONIndex.members(tree, in: bytes, maximumDepth: maximumDepth)
            return found.map { found in
                slots.map { slot in found[slot].map { String(decoding: bytes[$0], as: UTF8.self) } }
            }
        }
    }

    @Test(arguments: [
        #"{"code":0"#, #"{"code":0,"#, #"{"code":0,}"#, #"{"code":0} x"#, #"{"code":01}"#, #"{"code" 0}"#, #"{code:0}"#,
        #"{"code":0,"data":[1,}"#, #"{"code":0;"data":1}"#, "{", "{\"code", "{} {}", "[1,]", "",
    ])
    func theCompleteTextIsValidated(text: String) {
        #expect(throws: JSONError.self) { try members(["code"], in: text) }
    }

    @Test func theOutermostObjectCountsForTheDepth() throws {
        let text = #"{"data":[[1]]}"#
        #expect(throws: Never.self) { try members(["data"], in: text, maximumDepth: 3) }
        let error = try #require(throws: JSONError.self) { try members(["data"], in: text, maximumDepth: 2) }
        #expect(error.reason == .tooDeep(limit: 2))
        #expect(throws: JSONError.self) {
            try members(["data"], in: "{\"data\":" + String(repeating: "[", count: 512), maximumDepth: 512)
        }
    }

    @Test(arguments: [
        ("a", #"{"a":1}"#, true), ("a", #"{"\u0061":1}"#, true), ("a\"b", #"{"a\"b":1}"#, true),
        ("a\\b", #"{"a\\b":1}"#, true), ("\\u0061", #"{"\u0061":1}"#, false), ("\\u0061", #"{"\\u0061":1}"#, true),
        ("é", #"{"é":1}"#, true), ("é", #"{"\u00e9":1}"#, true), ("e\u{301}", #"{"é":1}"#, false),
        ("😀", #"{"\ud83d\ude00":1}"#, true), ("", #"{"":1}"#, true), ("ab", #"{"\u0061":1}"#, false),
        ("a", #"{"\u0061b":1}"#, false), ("\n/", #"{"\n\/":1}"#, true), ("\\", #"{"\\":1}"#, true),
        ("\\n", #"{"\n":1}"#, false),
    ])
    func namesAreComparedAfterUnescaping(name: String, text: String, isThere: Bool) throws {
        #expect(try members([name], in: text) == [isThere ? "1" : nil])
    }

    @Test func firstOfRepeatedMembersIsFound() {
        Array(#"{"a":1,"b":2,"\u0061":3}"#.utf8).withUnsafeBytes { bytes in
            let scanner = JSONScanner(bytes)
            #expect(scanner.member("a", ofObjectAt: 0) == 5)
            #expect(scanner.member("b", ofObjectAt: 0) == 11)
            #expect(scanner.member("c", ofObjectAt: 0) == nil)
            #expect(scanner.member("a", ofObjectAt: 5) == nil)
            #expect(scanner.range(ofValueAt: 5) == 5..<6)
        }
    }

    private func members(_ names: [String], in text: String, maximumDepth: Int = 128) throws -> [String?]? {
        try Array(text.utf8).withUnsafeBytes { bytes in
            let tree = JSONMemberTree(members: names.map { JSONName($0) })
            return try JSONIndex.members(tree, in: bytes, maximumDepth: maximumDepth)?
                .map { $0.map { String(decoding: bytes[$0], as: UTF8.self) } }
        }
    }
}

extension JSONMemberTree {
    /// Creates a tree of members of the outermost object, with slots in this order; each name must be unique.
    init(members names: [JSONName]) {
        self.init()
        for name in names { _ = insert([name]) }
    }
}

extension JSONIndex {
    /// The ranges of members of a text.
    static func members(
        _ tree: JSONMemberTree,
        in bytes: UnsafeRawBufferPointer,
        maximumDepth: Int = JSONDepth.standard
    ) throws(JSONError) -> [Range<Int>?]? {
        let index = try JSONIndex(bytes, maximumDepth: maximumDepth)
        return try index.members(tree, in: bytes)?.map { word in word.map { index.range($0) } }
    }
}
