internal import Foundation

#if canImport(Darwin)
internal import CoreFoundation
#endif

/// A character encoding, by its name in a `Content-Type` field.
///
/// Names are from the IANA registry. If senders in practice use a superset under the name of its subset, the
/// superset is read, as in the WHATWG Encoding Standard: GB18030 for `gb2312` and `gbk`, code page 949 for `euc-kr`,
/// 932 for `shift_jis`, 950 with the Hong Kong additions for `big5`, and windows-1252, 1254 and 874 for `iso-8859-1` and
/// `us-ascii`, `iso-8859-9` and `iso-8859-11`.
struct Charset {
    /// The way to convert the bytes to text.
    private enum Conversion {
        case foundation(String.Encoding)
        /// The system's converters, of which the first that reads all bytes is used.
        case system([String])
    }

    /// Why the bytes cannot be converted.
    enum Failure: Error {
        /// The name is not known to the library or the system.
        case unknown
        /// The bytes are not valid in this encoding.
        case malformed
    }

    private let conversion: Conversion

    /// Creates the charset of a lowercase name, or returns `nil` if the library does not know it.
    init?(_ name: String) {
        if let encoding = Self.foundation[name] {
            conversion = .foundation(encoding)
        } else if let names = Self.systemNames(of: name) {
            conversion = .system(names)
        } else {
            return nil
        }
    }

    /// Returns the text of the bytes, which must all be valid.
    func text(of data: Data) throws(Failure) -> String {
        switch conversion {
        case .foundation(let encoding):
            guard let text = String(data: data, encoding: encoding) else { throw .malformed }
            return text
        case .system(let names): return try SystemCharset.text(of: data, charsets: names)
        }
    }

    /// Returns the text of bytes in a charset, or in UTF-8 if there is none.
    ///
    /// - Parameters:
    ///   - data: The bytes, which must all be valid.
    ///   - name: The lowercase name of the charset, or `nil`.
    ///   - isBeginning: Whether a byte order mark at the beginning is omitted, as in "UTF-8 decode" of the Encoding Standard.
    ///   - subject: The subject and the verb of the error, such as `the bytes are`.
    /// - Returns: The text.
    /// - Throws: ``NetworkError`` if the charset is not known or the bytes are not valid in it.
    static func text(
        of data: Data,
        in name: String?,
        isBeginning: Bool = true,
        _ subject: @autoclosure () -> String = "the bytes are"
    ) throws(NetworkError) -> String {
        func withoutMark(_ text: String) -> String {
            guard isBeginning, text.unicodeScalars.first == "\u{FEFF}" else { return text }
            return String(text.unicodeScalars.dropFirst())
        }
        guard let name, name != "utf-8", name != "utf8" else {
            if let text = String(validating: data, as: UTF8.self) { return withoutMark(text) }
            throw NetworkError(.model(type: "String", detail: "\(subject()) not UTF-8"))
        }
        guard let known = Charset(name) else { return try utf8(data, labelled: name) }
        do {
            return withoutMark(try known.text(of: data))
        } catch {
            if error == .unknown { return try utf8(data, labelled: name) }
            throw NetworkError(.model(type: "String", detail: "\(subject()) not \(name)"))
        }
    }

    /// Returns the text of bytes under a label that is not known if they are UTF-8, because text in another charset hardly ever is;
    /// only UTF-7, ISO-2022 and HZ write other characters in ASCII, and UTF-16 and UTF-32 have zeros.
    private static func utf8(_ data: Data, labelled name: String) throws(NetworkError) -> String {
        let mayMislead = ["utf-7", "utf7", "2022", "hz"].contains { name.contains($0) } || data.contains(0)
        guard !mayMislead, let text = String(validating: data, as: UTF8.self) else { throw unknown(name) }
        return text
    }

    private static func unknown(_ name: String) -> NetworkError {
        NetworkError(.model(type: "String", detail: "the charset '\(name)' is not known"))
    }

    /// Whether a line feed is one byte in a charset, which is no part of another character.
    static func hasLineFeed(_ name: String) -> Bool { !name.hasPrefix("utf-16") && !name.hasPrefix("utf-32") }

    private static let foundation: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8,
        "utf-16": .utf16, "utf-16le": .utf16LittleEndian, "utf-16be": .utf16BigEndian,
        "utf-32": .utf32, "utf-32le": .utf32LittleEndian, "utf-32be": .utf32BigEndian,
    ]

    private static func systemNames(of name: String) -> [String]? {
        if let known = table.first(where: { $0.names.contains(name) }) { return known.converters }
        for prefix in ["windows-", "cp", "x-cp"] where name.hasPrefix(prefix) {
            guard let number = Int(String(name.dropFirst(prefix.count))), 1250...1258 ~= number else { continue }
            return ["CP\(number)", "WINDOWS-\(number)"]
        }
        for prefix in ["iso-8859-", "iso8859-", "iso_8859-"] where name.hasPrefix(prefix) {
            // There is no part 12.
            guard let part = Int(String(name.dropFirst(prefix.count))), 1...16 ~= part, part != 12 else { continue }
            let superset = supersets[part].map { ["CP\($0)", "WINDOWS-\($0)"] } ?? []
            // It has the bytes to which the superset gives no character.
            return superset + ["ISO-8859-\(part)"]
        }
        return nil
    }

    /// The code pages that are read in place of parts of ISO 8859.
    private static let supersets = [1: 1252, 9: 1254, 11: 874]

    private static let table: [(names: [String], converters: [String])] = [
        (["gb2312", "gbk", "gb18030", "cp936", "windows-936", "x-gbk", "gb_2312-80", "euc-cn"], ["GB18030", "GBK"]),
        (["big5", "big5-hkscs", "cn-big5", "x-x-big5", "cp950"], ["BIG5-HKSCS", "BIG5"]),
        (["euc-kr", "ks_c_5601-1987", "ksc5601", "ks_c_5601-1989", "windows-949", "cp949"], ["CP949", "EUC-KR"]),
        (["shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "windows-31j", "cp932"], ["CP932", "SHIFT_JIS"]),
        (["euc-jp", "x-euc-jp"], ["EUC-JP"]),
        (["iso-2022-jp"], ["ISO-2022-JP"]),
        (["iso-2022-kr"], ["ISO-2022-KR"]),
        (["koi8-r", "koi8", "koi"], ["KOI8-R"]),
        (["koi8-u", "koi8-ru"], ["KOI8-U"]),
        (["windows-874", "tis-620", "cp874"], ["CP874", "WINDOWS-874", "TIS-620"]),
        (["ibm866", "cp866"], ["IBM866", "CP866"]),
        (["macintosh", "mac", "x-mac-roman"], ["MACINTOSH"]),
        (["us-ascii", "ascii", "latin1", "l1"], ["CP1252", "WINDOWS-1252", "ISO-8859-1"]),
        (["latin5", "l5"], ["CP1254", "WINDOWS-1254", "ISO-8859-9"]),
        (["latin2", "l2"], ["ISO-8859-2"]), (["latin9", "latin-9", "l9"], ["ISO-8859-15"]),
    ]
}

#if canImport(Darwin)
/// The converters of Core Foundation.
enum SystemCharset {
    /// Returns the text of the bytes in the first of these charsets that the system supports and in which all are valid.
    static func text(of data: Data, charsets: [String]) throws(Charset.Failure) -> String {
        var failure = Charset.Failure.unknown
        for charset in charsets {
            let encoding = CFStringConvertIANACharSetNameToEncoding(charset as CFString)
            guard encoding != kCFStringEncodingInvalidId, CFStringIsEncodingAvailable(encoding) else { continue }
            let converted = CFStringConvertEncodingToNSStringEncoding(encoding)
            if let text = String(data: data, encoding: String.Encoding(rawValue: converted)) { return text }
            failure = .malformed
        }
        throw failure
    }
}
#else
/// The C library's `iconv`, because Foundation has only a few converters on Linux.
enum SystemCharset {
    /// Returns the text of the bytes in the first of these charsets that the system supports and in which all are valid.
    static func text(of data: Data, charsets: [String]) throws(Charset.Failure) -> String {
        var failure = Charset.Failure.unknown
        for charset in charsets {
            guard let converter = open(charset) else { continue }
            defer { iconv_close(converter) }
            let converted = data.withUnsafeBytes { convert($0, with: converter) }
            if let converted, let text = String(validating: converted, as: UTF8.self) { return text }
            failure = .malformed
        }
        throw failure
    }

    private static func open(_ charset: String) -> iconv_t? {
        // Without //TRANSLIT or //IGNORE, malformed bytes are an error.
        let converter = iconv_open("UTF-8", charset)
        return converter == iconv_t(bitPattern: -1) ? nil : converter
    }

    /// Returns the bytes as UTF-8, or `nil` if some are malformed or the last character is incomplete.
    private static func convert(_ bytes: UnsafeRawBufferPointer, with converter: iconv_t) -> [UInt8]? {
        var input = UnsafeMutablePointer(mutating: bytes.bindMemory(to: CChar.self).baseAddress)
        var rest = bytes.count
        // A character of four bytes in UTF-8 has at least one in any charset.
        let capacity = 4 * bytes.count + 16
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
            var output = buffer.baseAddress
            var room = capacity
            // Called once more without input, for what the converter still holds.
            guard rest == 0 || iconv(converter, &input, &rest, &output, &room) != -1,
                iconv(converter, nil, nil, &output, &room) != -1
            else { return nil }
            return Array(UnsafeRawBufferPointer(buffer).prefix(capacity - room))
        }
    }
}
#endif
