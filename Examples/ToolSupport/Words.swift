package import Errand
import Foundation

/// The words of a command line, read from the first to the last.
package struct Words {
    /// A command line that cannot be understood.
    package struct Wrong: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    package enum Word {
        /// An option, which begins with a hyphen.
        case option(String)
        case operand(String)
    }

    private var rest: ArraySlice<String>
    private var option = ""
    /// The value of an option that is written as `--name=value`, until it is read.
    private var attached: String?
    private var hasOptions = true

    package init(_ words: some Sequence<String>) { rest = Array(words)[...] }

    /// Reads the next word, or returns `nil` at the end; all words after `--` are operands.
    ///
    /// - Throws: ``Wrong`` if the last option has a value that was not read.
    package mutating func next() throws -> Word? {
        guard attached == nil else { throw Wrong("\(option) takes no value; see --help") }
        guard let word = rest.popFirst() else { return nil }
        guard hasOptions, word.hasPrefix("-"), word != "-" else { return .operand(word) }
        if word == "--" {
            hasOptions = false
            return try next()
        }
        option = word
        if word.hasPrefix("--"), let equals = word.firstIndex(of: "=") {
            option = String(word[..<equals])
            attached = String(word[equals...].dropFirst())
        }
        return .option(option)
    }

    /// Reads the value of the option that was read last.
    package mutating func value() throws -> String {
        defer { attached = nil }
        guard let value = attached ?? rest.popFirst() else { throw Wrong("\(option) needs a value; see --help") }
        guard !value.isEmpty else { throw Wrong("the value of \(option) is empty; see --help") }
        return value
    }

    /// Reads the value of the last option, as a number.
    package mutating func number(in range: ClosedRange<Int>) throws -> Int {
        let text = try value()
        guard let number = Int(text), range.contains(number) else {
            throw Wrong("\(option) needs a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return number
    }

    /// Reads the value of the last option, as the name and the value of a header field.
    package mutating func header() throws -> (name: String, value: String) {
        let text = try value()
        // What has no name may be a credential.
        guard let colon = text.firstIndex(of: ":") else { throw Wrong("\(option) needs 'NAME: VALUE'") }
        let name = text[..<colon].trimmingCharacters(in: .whitespaces)
        guard Self.isToken(name) else { throw Wrong("\(option) needs 'NAME: VALUE'; '\(name)' is not a name") }
        return (name, text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }

    /// Reads the value of the last option, as a method.
    package mutating func method() throws -> HTTPMethod {
        let text = try value()
        guard Self.isToken(text) else { throw Wrong("\(option) needs a method such as PUT, not '\(text)'") }
        return HTTPMethod(rawValue: text)
    }

    /// Returns the error for an option that does not exist.
    package func unknown(_ option: String) -> Wrong { Wrong("there is no option \(option); see --help") }

    /// Whether a text is a token (RFC 9110, section 5.6.2), as a method and the name of a header field are.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
                return letters ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }
}
