import { createLog, type Log } from '../../src/observe/log.ts'
import { createScrubber, type Scrubber } from '../../src/system/scrubber.ts'

/** The real log, writing into memory. */
export type CapturedLog = {
  readonly log: Log
  readonly scrubber: Scrubber
  /** All output so far, unparsed. */
  text(): string
  /** The same, one parsed object per line. */
  lines(): Record<string, unknown>[]
}

/** JSON format. Pass `scrubber` to share one that has the secrets. */
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
