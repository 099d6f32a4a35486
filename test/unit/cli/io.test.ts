import { expect, test } from 'vitest'
import { guarded } from '../../../src/cli/process/io.ts'

/** The output of a guarded stream, on a terminal or not. */
function through(isTTY: boolean, ...chunks: readonly (string | Uint8Array)[]): string {
  const written: string[] = []
  const stream = { isTTY, columns: 80, write: (chunk: unknown) => written.push(String(chunk)) > 0 }
  const out = guarded(stream as unknown as NodeJS.WriteStream)
  for (const chunk of chunks) out.write(chunk)
  expect(out.columns).toBe(80)
  return written.join('')
}

const RAW = 'skip \u001b]52;c;SGVsbG8=\u0007\u001b[2J\u202e\u001b[8mhidden\r\n'

test.each([true, false])(
  'text from an older journal cannot control a terminal (on a terminal: %s)',
  (isTTY) => {
    const out = through(isTTY, RAW)
    expect(out).toBe('skip  ]52;c;SGVsbG8=  [2J  [8mhidden \n')
  },
)

test("a terminal receives the program's own colours and rewritten line, and a pipe receives none", () => {
  const own = ['\r3 of 9\u001b[K', '\u001b[33mwarning\u001b[0m\n', '\r\u001b[K']
  expect(through(true, ...own)).toBe(own.join(''))
  const piped = through(false, ...own)
  for (const driving of ['\u001b', '\r']) expect(piped).not.toContain(driving)
})
