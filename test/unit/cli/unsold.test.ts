import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { history } from '../../../src/cli/commands/inspect/history.ts'
import { plan } from '../../../src/cli/commands/inspect/plan.ts'
import { status } from '../../../src/cli/commands/inspect/status.ts'
import { why } from '../../../src/cli/commands/inspect/why.ts'
import type { Io } from '../../../src/cli/process/io.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { scheduleKey } from '../../../src/domain/schedule/schedule.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'
import { CONFIG, loadTexts, settingsOf } from '../config/config-fixture.ts'

const FILE = `name: slices
kind: twap
sell: USDC
buy: WETH
amount: "100"
slices: 4
every: 1h
`
const FROM = 1_800_000_000
const LAST = FROM + 1 + 3 * 3_600

/** Output of a command over the journal of a TWAP that ended without selling. */
async function printed(command: (options: { config: string }, io: Io) => Promise<unknown>) {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'strategies'))
  writeFileSync(join(dir, 'strategies', 'slices.yaml'), FILE)
  const config = join(dir, 'config.yaml')
  writeFileSync(config, `stateDir: ${dir}/data\nstrategiesDir: ${dir}/strategies\n${CONFIG}`)
  const loaded = loadTexts({ 'slices.yaml': FILE }, settingsOf())
  const [strategy] = loaded.ok ? loaded.strategies : []
  if (strategy?.kind !== 'twap') throw new Error('the file is no twap')
  const { sell, total, schedule } = strategy
  const program = `${total} USDC ${scheduleKey(schedule)}`
  const skipped = { outcome: 'skipped', reason: 'price-stale' } as const
  const memory = { program, base: '0' }
  const events: readonly JournalEvent[] = [
    {
      type: 'strategy-scheduled',
      strategy: 'slices',
      scheduleKey: scheduleKey(schedule),
      fromSeconds: FROM,
    },
    { type: 'slot-closed', strategy: 'slices', slotSeconds: LAST, ...skipped, memory },
    {
      ...{ type: 'program-ended', strategy: 'slices', slotSeconds: LAST, program },
      ...{ token: sell.token, total, unsold: baseUnits(62_500_000n), rule: 'spread' },
    },
  ]
  mkdirSync(join(dir, 'data'))
  const { journal, close } = await openForTest(join(dir, 'data'))
  await journal.append(...events)
  await close()
  const parts: string[] = []
  const stdout = { write: (part: string) => void parts.push(part) }
  const io = { env: {}, stdout, stderr: { write: () => undefined } } as unknown as Io
  await command({ config }, io)
  return parts.join('')
}

test('`status` shows what a completed TWAP has not sold, from the current ledger', async () => {
  expect(await printed((options, io) => status(options, io, FROM * 1_000))).toContain(
    'slices: NOT SOLD 100 USDC, though it is completed',
  )
})

test('`status` and `plan` say that it is finished', async () => {
  expect(await printed((options, io) => status(options, io, LAST * 1_000))).toMatch(
    /^slices .* finished /m,
  )
  const planned = await printed((options, io) =>
    plan(undefined, { ...options, slots: 3 }, io, LAST * 1_000),
  )
  expect(planned).toContain('  finished  4 slices every 1h are over')
  expect(planned).not.toMatch(/never due/)
})

test('`history` shows it beside the last slot, and `why` in its record', async () => {
  const shown = await printed((options, io) => history({ ...options, limit: 10 }, io))
  expect(shown).toMatch(/skipped {2}the price is too old, completed with 62\.5 USDC unsold\n$/)
  expect(
    await printed((options, io) =>
      why(`slices:${LAST}`, { ...options, raw: true }, io, FROM * 1_000),
    ),
  ).toMatch(/program-ended .*total=100000000 unsold=62500000 rule=spread/)
})
