// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// What App Store Connect asks of a library. On other platforms a bundle of resources would only be one more file to ship.
#if os(macOS)
let privacy = (resources: [Resource.copy("PrivacyInfo.xcprivacy")], excluded: [String]())
#else
let privacy = (resources: [Resource](), excluded: ["PrivacyInfo.xcprivacy"])
#endif

// Linux needs no entry. Windows and WASI have no POSIX files, threads and sockets: a build for them stops at an `#error`.
let package = Package(
    name: "Errand",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Errand", targets: ["Errand"]),
        .library(name: "ErrandCurl", targets: ["ErrandCurl"]),
        .library(name: "ErrandTerminal", targets: ["ErrandTerminal"]),
        .library(name: "ErrandInspector", targets: ["ErrandInspector"]),
        .library(name: "ErrandTesting", targets: ["ErrandTesting"]),
        .library(name: "ErrandSwiftTesting", targets: ["ErrandSwiftTesting"]),
    ],
    targets: [
        .target(
            name: "Errand",
            exclude: privacy.excluded,
            resources: privacy.resources,
            swiftSettings: settings
        ),
        .target(name: "CErrandCurl"),
        .target(name: "ErrandCurl", dependencies: ["Errand", "CErrandCurl"], swiftSettings: settings),
        .target(name: "ErrandTerminal", dependencies: ["Errand"], swiftSettings: settings),
        .target(name: "ErrandInspector", dependencies: ["Errand"], swiftSettings: settings),
        .target(name: "ErrandTesting", dependencies: ["Errand"], swiftSettings: settings),
        .target(name: "ErrandSwiftTesting", dependencies: ["Errand", "ErrandTesting"], swiftSettings: settings),
        .executableTarget(
            name: "Tour",
            dependencies: ["Errand", "ErrandCurl", "ErrandInspector", "ErrandTerminal", "ErrandTesting"],
            path: "Examples/Tour",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Fetch",
            dependencies: ["Errand", "ToolSupport"],
            path: "Examples/Fetch",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Upload",
            dependencies: ["Errand", "ErrandTerminal", "ToolSupport"],
            path: "Examples/Upload",
            swiftSettings: settings
        ),
        .target(
            name: "ToolSupport",
            dependencies: ["Errand", "ErrandTerminal"],
            path: "Examples/ToolSupport",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ReadmeSnippets",
            dependencies: ["Errand", "ErrandTesting"],
            path: "Examples/ReadmeSnippets",
            swiftSettings: settings
        ),
        .target(name: "TestSupport", dependencies: ["Errand"], path: "Tests/TestSupport", swiftSettings: settings),
        .testTarget(
            name: "ErrandTests",
            dependencies: ["Errand", "ErrandInspector", "ErrandTerminal", "ErrandTesting", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ErrandTestingTests",
            dependencies: ["Errand", "ErrandSwiftTesting", "ErrandTesting", "TestSupport"],
            exclude: ["Cassettes"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ErrandIntegrationTests",
            dependencies: ["Errand", "ErrandCurl", "CErrandCurl", "ErrandInspector", "ErrandTesting", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MainActorTests",
            dependencies: ["Errand", "ErrandTesting"],
            swiftSettings: settings + [
                .defaultIsolation(MainActor.self), .enableUpcomingFeature("InferIsolatedConformances"),
            ]
        ),
        .testTarget(
            name: "MigrationTests",
            dependencies: ["Errand", "ErrandTesting", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ExampleTests",
            dependencies: ["Errand", "ErrandTerminal", "ErrandTesting", "TestSupport", "ToolSupport"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

// They compare the transport on libcurl, and count with perf.
#if os(Linux)
package.targets.append(
    .executableTarget(
        name: "Benchmarks",
        dependencies: ["CErrandCurl", "Errand", "ErrandCurl", "ErrandInspector", "ErrandTesting"],
        path: "Tests/Benchmarks",
        swiftSettings: settings
    )
)
#endif
