/** Writes an entry to the sandbox's log. Fields never contain a key, signature or raw transaction. */
export type SandboxLog = (event: string, fields?: Readonly<Record<string, unknown>>) => void
