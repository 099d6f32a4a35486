import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { printable } from '../../src/domain/text/outside-text.ts'
import { run } from '../support/process/cli.ts'
import { BOUND, STRATEGY, scheduled } from '../support/state/journal-events.ts'
import { aProject } from '../unit/cli/reading-fixture.ts'
import { edit, STRATEGY as FILE } from '../unit/config/config-fixture.ts'

const SLOT = 1_799_999_000
/** A skip reason as an older version recorded it from a module. */
const RAW = 'no\u001b]52;c;SGVsbG8=\u0007 \u001b[2J\u202edear\u009b31m'
const SKIPPED = {
  type: 'slot-closed',
  strategy: STRATEGY,
  slotSeconds: SLOT,
  outcome: 'skipped',
  reason: 'module-skipped',
  detail: RAW,
} as const
const PAUSED = {
  type: 'strategy-paused',
  strategy: STRATEGY,
  cause: 'operator',
  detail: RAW,
} as const

describe('a journal that holds raw text from outside', () => {
  test.each([['history'], ['why', STRATEGY], ['why', STRATEGY, '--raw'], ['status']])(
    'sends no control sequences to a terminal through %s %s %s',
    async (...command) => {
      const { config } = await aProject([BOUND, scheduled(), SKIPPED, PAUSED])
      const { stdout, stderr } = await run([...command, '--config', config])
      expect(stdout).toContain('dear')
      expect(printable(stdout + stderr)).toBe(stdout + stderr)
    },
  )

  test('is given to a program exactly, with escapes', async () => {
    const { config } = await aProject([BOUND, scheduled(), SKIPPED, PAUSED])
    const { stdout } = await run(['history', '--json', '--config', config])
    expect(printable(stdout)).toBe(stdout)
    expect(JSON.parse(stdout)).toMatchObject({ slots: [{ detail: RAW }] })
  })
})

describe('a private key in the wrong file or field', () => {
  const KEY = 'c0ffee11'.repeat(8)

  async function folderWithKey(strategy = FILE) {
    const { config, dir } = await aProject([BOUND], { strategy })
    const prices = join(dir, 'prices')
    mkdirSync(prices)
    writeFileSync(join(prices, 'WETH-USDC.csv'), `time,price\n2026-01-01,3000\n${KEY},3001\n`)
    return { config, prices, dir }
  }

  test.each([
    [
      'a row of a price file',
      [
        'backtest',
        '--from',
        '2026-01-01',
        '--to',
        '2026-02-01',
        '--balance',
        'USDC=1000',
        '--prices',
        'PRICES',
      ],
      /`\*\*\*` is no time/,
    ],
    ['a config path', ['validate', '--config', `0x${KEY}`], /\*\*\*[\s\S]*there is no such file/],
    ['a command', [`0x${KEY}`], /unknown command '\*\*\*'/],
    ['a flag', ['run', '--for', KEY], /flag --for: not a duration/],
    ['a key file path', ['wallet', 'address', '--private-key-file', KEY], /there is no \*\*\*/],
    ['a strategy name', ['why', `0x${KEY}`], /\*\*\*/],
  ] as const)('is not printed: %s', async (_, command, says) => {
    const { config, prices } = await folderWithKey()
    const args = command.map((arg) => (arg === 'PRICES' ? prices : arg))
    const own =
      args.includes('--config') || args.length === 1 || args[0] === 'wallet'
        ? []
        : ['--config', config]
    for (const json of [[], ['--json']]) {
      if (json.length > 0 && args.length === 1) continue
      const { stdout, stderr, code } = await run([...args, ...own, ...json])
      expect(code).not.toBe(0)
      expect(stdout + stderr).toMatch(says)
      expect(stdout + stderr).not.toContain(KEY.slice(0, 20))
    }
  })

  test('is not printed when it is a value of a strategy file', async () => {
    const { config } = await folderWithKey(edit(FILE, 'amount: "25"', `amount: "${KEY} USDC"`))
    const { stdout, stderr } = await run(['validate', '--config', config])
    expect(stdout + stderr).toMatch(/weekly-eth\.yaml:\d+:\d+ amount/)
    expect(stdout + stderr).not.toContain(KEY.slice(0, 20))
  })
})
