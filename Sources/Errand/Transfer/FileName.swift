internal import Foundation

/// The name under which a download is stored in a folder, made from what a server proposes.
///
/// It is a single component that names a visible file in that folder, on Linux, Apple platforms and Windows alike.
struct FileName: Sendable, Hashable {
    let text: String

    /// The maximum size in UTF-8, which leaves room for the suffixes of an unfinished download.
    private static let maximumSize = 200

    /// The name if nothing proposes a usable one.
    static let fallback = "download"

    /// Names a file by `Content-Disposition`, or else by the last component of the URL's path.
    ///
    /// - Parameters:
    ///   - headers: The header fields of the response.
    ///   - url: The URL of the response.
    ///   - declared: The path as the request declares it, if the response is from there; a component with a secret names no file.
    init(of headers: HTTPHeaders, from url: URL, _ declared: DeclaredPath? = nil) {
        let proposed = headers["Content-Disposition"].flatMap { ContentDisposition($0)?.fileName }
        text =
            proposed.flatMap { Self.sanitized($0) } ?? Self.sanitized(path: declared?.shown ?? url.path())
            ?? Self.fallback
    }

    /// Whether a text is a name that a server could have proposed.
    static func isSafe(_ text: String) -> Bool { sanitized(text) == text }

    private static func sanitized(path: String) -> String? {
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        return last.contains(DeclaredPath.mask) ? nil : sanitized(String(last).removingPercentEncoding ?? String(last))
    }

    /// Returns a usable name, or `nil` if nothing of the text remains.
    ///
    /// Of a path, only the last component is used, with both kinds of slashes; a drive or a stream of NTFS is not part of
    /// it. All is done by scalars: a slash and a mark after it are one `Character`, which is no slash.
    private static func sanitized(_ text: String) -> String? {
        guard let last = text.unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last else { return nil }
        var scalars = String.UnicodeScalarView()
        for scalar in last {
            switch scalar.properties.generalCategory {
            // Control characters, and those that change the order of others.
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: continue
            default: scalars.append("<>:\"|?*".unicodeScalars.contains(scalar) ? "_" : scalar)
            }
        }
        // Neither hidden nor relative.
        var name = withoutEnd(scalars.drop(while: isLeftOut))
        guard !name.isEmpty else { return nil }
        name = withoutEnd(shortened(String(name)).unicodeScalars[...])
        let stem = String(String.UnicodeScalarView(name.prefix { $0 != "." })).lowercased()
        if reserved.contains(stem) { name.insert("_", at: name.startIndex) }
        let lowercase = String(name).lowercased().utf8
        if unfinished.contains(where: { lowercase.suffix($0.utf8.count).elementsEqual($0.utf8) }),
            let dot = name.lastIndex(of: ".")
        {
            name.replaceSubrange(dot...dot, with: CollectionOfOne("_"))
        }
        return String(name)
    }

    private static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || scalar.properties.isWhitespace }

    /// Returns a name without an end that Windows removes.
    private static func withoutEnd(_ name: Substring.UnicodeScalarView) -> String.UnicodeScalarView {
        var rest = name
        while let last = rest.last, isLeftOut(last) { rest.removeLast() }
        return String.UnicodeScalarView(rest)
    }

    /// The ends of the files of an unfinished download, which no server may replace.
    private static let unfinished = [".part", ".part.json", ".part.json.tmp"]

    /// The names of devices on Windows, whatever their extension.
    private static let reserved: Set<String> = {
        var names: Set = ["con", "prn", "aux", "nul", "conin$", "conout$"]
        for number in 0...9 { names.formUnion(["com\(number)", "lpt\(number)"]) }
        return names
    }()

    /// Returns a name that is not too long, with its extension.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumSize else { return name }
        let dot = name.unicodeScalars.lastIndex(of: ".") ?? name.endIndex
        let suffix = name[dot...].utf8.count <= 20 ? String(name[dot...]) : ""
        var stem = name.prefix(maximumSize)
        while stem.utf8.count + suffix.utf8.count > maximumSize { stem.removeLast() }
        return (stem.isEmpty ? fallback[...] : stem) + suffix
    }
}
