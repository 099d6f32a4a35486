import { Command } from 'commander'
import { expect, test } from 'vitest'
import { duration, moment, port, since } from '../../../src/cli/arguments.ts'
import { flagError } from '../../../src/cli/text/explain.ts'

/** What a person reads of a command line that the parser refuses. */
function told(...args: readonly string[]): string {
  let text = ''
  const root = new Command('program')
    .exitOverride()
    .configureOutput({ outputError: (said, write) => write(flagError(said)), writeErr: add })
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
    // The parser throws after it has told why.
  }
  return text
}

test('a bad value names the flag, what is wrong and what it takes, as a problem in a file does', () => {
  expect(told('--for', "3'x")).toBe(
    'flag --for: not a duration\n  expected: a duration such as 30s or 5m\n',
  )
  expect(told('-p', '70000')).toBe(
    'flag --port: not a port\n  expected: a whole number from 0 to 65535\n',
  )
})

test('a day that the calendar does not have is refused under the flag that was given it', () => {
  for (const day of ['2025-02-30', '2025-06-31', '2025-02-29', '2025-01-31T24:00'])
    expect(told('--from', day)).toBe(
      'flag --from: not a day\n  expected: a day such as 2025-01-01, or 2025-01-01T09:30\n',
    )
  expect(told('--since', '2026-04-31')).toBe(
    'flag --since: neither a day nor a duration\n  expected: a day such as 2026-01-31, or 30d\n',
  )
})

test('a flag without its value, one that is missing and one that is unknown are told in the same way', () => {
  expect(told('--for')).toBe('flag --for: its value is missing\n  expected: --for <duration>\n')
  expect(told()).toBe('flag --out: it is required\n  expected: --out <file>\n')
  expect(told('--out', 'x', '--prot', '1')).toBe(
    'flag --prot: unknown flag\n  did you mean `--port`?\n',
  )
  expect(told('--out', 'x', '--nothing-like-it')).toBe('flag --nothing-like-it: unknown flag\n')
})

test('what is about no flag stays as the parser says it', () => {
  expect(flagError("error: unknown command 'x'")).toBe("error: unknown command 'x'")
})
