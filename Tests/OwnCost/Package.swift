// swift-tools-version: 6.3
import PackageDescription

/// Measures what a send costs over a transport in memory, with the checkout of Errand that `ERRAND` names.
let package = Package(
    name: "OwnCost",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Errand", path: Context.environment["ERRAND"] ?? "../..")],
    targets: [
        .executableTarget(name: "OwnCost", dependencies: [.product(name: "Errand", package: "Errand")])
    ]
)
