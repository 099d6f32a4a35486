import { Command } from 'commander'
import { expect, test } from 'vitest'
import { duration, moment, port, since } from '../../../src/cli/arguments.ts'
import { flagError } from '../../../src/cli/text/explain.ts'

/** The error text for a command line that the parser rejects. */
function errorText(...args: readonly string[]): string {
  let text = ''
  const root = new Command('program')
    .exitOverride()
    .configureOutput({ outputError: (message, write) => write(flagError(message)), writeErr: add })
  root
    .command('serve')
    .option('--for <duration>', '', duration)
    .option('-p, --port <port>', '', port)
    .option('--from <when>', '', moment)
    .option('--since <when>', '', since)
    .requiredOption('--out <file>', '')
    .action(() => undefined)
  function add(part: string): void {
    text += part
  }
  try {
    root.parse(['serve', ...args], { from: 'user' })
  } catch {
    // The parser throws after it has written the reason.
  }
  return text
}

test('a bad value names the flag, the fault and the accepted values, as a config problem does', () => {
  expect(errorText('--for', "3'x")).toBe(
    'flag --for: not a duration\n  expected: a duration such as 30s or 5m\n',
  )
  expect(errorText('-p', '70000')).toBe(
    'flag --port: not a port\n  expected: a whole number from 0 to 65535\n',
  )
})

test('a day missing from the calendar is rejected under the flag as typed', () => {
  for (const day of ['2025-02-30', '2025-06-31', '2025-02-29', '2025-01-31T24:00'])
    expect(errorText('--from', day)).toBe(
      'flag --from: not a day\n  expected: a day such as 2025-01-01, or 2025-01-01T09:30\n',
    )
  expect(errorText('--since', '2026-04-31')).toBe(
    'flag --since: neither a day nor a duration\n  expected: a day such as 2026-01-31, or 30d\n',
  )
})

test('a missing value, a missing flag and an unknown flag share one format', () => {
  expect(errorText('--for')).toBe(
    'flag --for: its value is missing\n  expected: --for <duration>\n',
  )
  expect(errorText()).toBe('flag --out: it is required\n  expected: --out <file>\n')
  expect(errorText('--out', 'x', '--prot', '1')).toBe(
    'flag --prot: unknown flag\n  did you mean `--port`?\n',
  )
  expect(errorText('--out', 'x', '--nothing-like-it')).toBe(
    'flag --nothing-like-it: unknown flag\n',
  )
})

test("an error about no flag keeps the parser's text", () => {
  expect(flagError("error: unknown command 'x'")).toBe("error: unknown command 'x'")
})
