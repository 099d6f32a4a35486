/** Where the sandbox reports what it does. Fields hold no key, signature or raw transaction. */
export type SandboxLog = (event: string, fields?: Readonly<Record<string, unknown>>) => void
