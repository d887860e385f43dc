// swift-tools-version: 6.3
import PackageDescription

/// Two programs that send one request: one with the checkout of Errand that `ERRAND` names, and, if `ERRAND` is not set, one
/// with Foundation alone.
let package: Package =
    if let errand = Context.environment["ERRAND"] {
        Package(
            name: "Consumer",
            platforms: [.macOS(.v15)],
            dependencies: [.package(name: "Errand", path: errand)],
            targets: [.executableTarget(name: "With", dependencies: [.product(name: "Errand", package: "Errand")])]
        )
    } else {
        Package(name: "Consumer", platforms: [.macOS(.v15)], targets: [.executableTarget(name: "Without")])
    }
