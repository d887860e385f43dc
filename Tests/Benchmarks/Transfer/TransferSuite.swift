import Errand
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Suite {
    /// What large bodies cost beside the tasks of URLSession for files.
    static let transfer = Suite(name: "transfer", summary: "processor time and memory of 256 MiB") { reporter in
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // what is left over is only a temporary folder
        try await UploadBench(folder: folder, reporter: reporter).run()
        try await DownloadBench(folder: folder, reporter: reporter).run()
    }
}
