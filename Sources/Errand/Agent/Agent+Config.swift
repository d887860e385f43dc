extension Agent {
    /// Changes the config atomically: no change by another task is lost.
    ///
    /// ```swift
    /// agent.updateConfig { $0.headers["Accept-Language"] = "fr" }
    /// ```
    ///
    /// The closure runs without a lock held, so it may use the agent. If another change comes first, it runs again on the
    /// result of that change; it must have no effect besides its changes to the config. Like ``config``, the result
    /// applies to sends that start from now on.
    ///
    /// - Parameter change: Changes the config in place. If it throws, the config stays as it is.
    /// - Returns: What the last run of the closure returns.
    /// - Throws: What the closure throws.
    @discardableResult
    public func updateConfig<Result>(_ change: (inout NetworkConfig) throws -> Result) rethrows -> Result {
        while true {
            let old = currentConfig
            var value = old.value
            let result = try change(&value)
            if replaceConfig(old, with: ConfigSnapshot(value)) { return result }
        }
    }
}
