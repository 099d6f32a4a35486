import { createLog, type Log } from '../../src/observe/log.ts'
import { createScrubber, type Scrubber } from '../../src/system/scrubber.ts'

/** The real log, writing into memory. */
export type CapturedLog = {
  readonly log: Log
  readonly scrubber: Scrubber
  /** Everything written so far, as written. */
  text(): string
  /** The same, a parsed object for each line. */
  lines(): Record<string, unknown>[]
}

/** JSON format. Give `scrubber` to share one that knows secrets. */
export async function captureLog(
  options: { readonly level?: string; readonly scrubber?: Scrubber } = {},
): Promise<CapturedLog> {
  const { level = 'info', scrubber = createScrubber() } = options
  const written: string[] = []
  const destination = { write: (line: string) => written.push(line) }
  const log = await createLog({ level, format: 'json', destination, scrubber })
  return {
    log,
    scrubber,
    text: () => written.join(''),
    lines: () => written.map((line) => JSON.parse(line)),
  }
}
