internal import Foundation

/// The current boot of the system.
enum SystemBoot {
    /// A text that is different after each boot, or `nil` if the system has none.
    static let id: String? = {
        #if canImport(Darwin)
        var size = 64
        var text = [CChar](repeating: 0, count: size)
        guard sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0) == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
        let id = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return id.flatMap { $0.isEmpty ? nil : $0.filter { !$0.isWhitespace } }
        #endif
    }()
}
