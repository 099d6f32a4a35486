import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { history } from '../../../src/cli/commands/inspect/history.ts'
import { type StatusReport, status } from '../../../src/cli/commands/inspect/status.ts'
import { why } from '../../../src/cli/commands/inspect/why.ts'
import { exportEntries } from '../../../src/cli/commands/money/export.ts'
import { report } from '../../../src/cli/commands/money/report.ts'
import type { DaemonStatus } from '../../../src/cli/daemon/handle.ts'
import type { EntryData } from '../../../src/cli/json/money-outputs.ts'
import type { ConfigOptions } from '../../../src/cli/load-files.ts'
import type { Io } from '../../../src/cli/process/io.ts'
import type { Problem } from '../../../src/config/yaml/problem.ts'
import { controlPath } from '../../../src/control/ask-control.ts'
import { serveControl } from '../../../src/control/control-socket.ts'
import { opensAtMs } from '../../../src/domain/schedule/due.ts'
import type { Schedule } from '../../../src/domain/schedule/schedule.ts'
import type { EventOf } from '../../../src/journal/events/registry.ts'
import { slotsMissed } from '../../../src/journal/events/strategy/slots.ts'
import { acquireLock } from '../../../src/store/lock/state-lock.ts'
import { outputOf } from '../../support/output-of.ts'
import {
  BOUND,
  filledSlot,
  intentOf,
  opened,
  STRATEGY,
  scheduled,
} from '../../support/state/journal-events.ts'
import { edit, STRATEGY as FILE, plain } from '../config/config-fixture.ts'
import { aProject, type Printed, type Project, printed } from './reading-fixture.ts'

const SLOT = 1_799_999_000
const NOW_MS = 1_800_000_000_000
const EVENTS = [BOUND, scheduled(), ...filledSlot(SLOT)]

/** Every read-only command, and its text for the only fill. */
const COMMANDS = {
  status: [(options: ConfigOptions, io: Io) => status(options, io, NOW_MS), /weekly-eth .*filled/],
  history: [
    (options: ConfigOptions, io: Io) => history({ ...options, limit: 10 }, io),
    /24\.9 USDC -> 0\.0061 WETH/,
  ],
  why: [
    (options: ConfigOptions, io: Io) => why(STRATEGY, options, io, NOW_MS),
    /filled: 24\.9 USDC for 0\.0061 WETH/,
  ],
  report: [
    (options: ConfigOptions, io: Io) => report({ ...options, timezone: 'UTC' }, io, NOW_MS),
    /24\.9 USDC +0\.0061 WETH/,
  ],
  export: [
    (options: ConfigOptions, io: Io) => exportEntries({ ...options, format: 'csv' }, io),
    /,24\.9,USDC,0\.0061,WETH,/,
  ],
} as const

/** Faults of the files, and the message of each. */
const FAULTS: readonly {
  readonly fault: string
  readonly message: RegExp
  readonly make: () => Promise<{ readonly project: Project; readonly options: ConfigOptions }>
}[] = [
  {
    fault: 'a strategy file is broken',
    message: /weekly-eth\.yaml:6:1 amuont: unknown key[\s\S]*did you mean `amount`\?/,
    async make() {
      const project = await aProject(EVENTS, { strategy: edit(FILE, 'amount:', 'amuont:') })
      return { project, options: { config: project.config } }
    },
  },
  {
    fault: 'the config has a key that is not known',
    message: /config\.yaml:3:1 wallts: unknown key/,
    async make() {
      const project = await aProject(EVENTS, {
        config: (text) => edit(text, 'mode: dry-run', 'wallts: {}\nmode: dry-run'),
      })
      return { project, options: { config: project.config } }
    },
  },
  {
    fault: 'there is no config at all, and --state-dir says where the state is',
    message: /config\.yaml: there is no such file/,
    async make() {
      const project = await aProject(EVENTS)
      rmSync(project.config)
      return { project, options: { config: project.config, stateDir: project.stateDir } }
    },
  },
]

describe.each(FAULTS)('while $fault', ({ message, make }) => {
  test.each(Object.entries(COMMANDS))(
    '%s prints the state on stdout and the fault on stderr',
    async (_, [command, shows]) => {
      const { options } = await make()
      const { code, stdout, stderr } = await printed((io) => command(options, io))
      expect(stdout).toMatch(shows)
      expect(stderr).toMatch(message)
      expect(stdout).not.toMatch(message)
      expect(code).toBe(0)
    },
  )

  test.each(Object.entries(COMMANDS).filter(([name]) => name !== 'export'))(
    '%s --json lists the fault under problems',
    async (name, [command]) => {
      const { options } = await make()
      const { code, stdout } = await printed((io) => command({ ...options, json: true }, io), {
        json: true,
      })
      const { problems } = outputOf<{ problems: readonly [Problem] }>(name, stdout)
      expect(problems).toHaveLength(1)
      expect(plain(problems[0])).toMatch(message)
      expect(code).toBe(0)
    },
  )

  test('export --json prints only entries on stdout, one per line', async () => {
    const { options } = await make()
    const { code, stdout, stderr } = await printed((io) =>
      exportEntries({ ...options, format: 'csv', json: true }, io),
    )
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => outputOf<EntryData>('export', line).type),
    ).toEqual(['trade'])
    expect(stderr).toMatch(message)
    expect(code).toBe(0)
  })
})

test.each(Object.entries(COMMANDS))(
  '%s reports no problems if there are none',
  async (_, [command]) => {
    const { config } = await aProject(EVENTS)
    const { code, stderr } = await printed((io) => command({ config }, io))
    expect(stderr).toBe('')
    expect(code).toBe(0)
  },
)

test.each(Object.entries(COMMANDS))(
  '%s fails without a state and names the path',
  async (_, [command]) => {
    const { config, stateDir } = await aProject(EVENTS)
    rmSync(stateDir, { recursive: true })
    const { code, stdout, stderr } = await printed((io) => command({ config }, io))
    expect(stderr).toContain(`${stateDir}: there is no state here yet`)
    expect(stdout).toBe('')
    expect(code).toBe(1)
  },
)

test.each(Object.entries(COMMANDS))(
  '%s exits with 78 if no file names the state directory',
  async (_, [command]) => {
    const { dir } = await aProject(EVENTS)
    const config = join(dir, 'other.yaml')
    writeFileSync(config, 'mode: [live\n')
    const { code, stderr } = await printed((io) => command({ config }, io))
    expect(stderr).toContain(config)
    expect(code).toBe(78)
  },
)

describe('an unknown strategy name', () => {
  const outputOfCommand = async (
    command: (config: string, io: Io) => ReturnType<typeof why>,
  ): Promise<Printed> => {
    const { config } = await aProject([...EVENTS, scheduled('daily-dai')])
    return printed((io) => command(config, io))
  }

  test.each([
    ['why', (config: string, io: Io) => why('weekly-etc', { config }, io, NOW_MS)],
    [
      'history',
      (config: string, io: Io) => history({ config, limit: 9, strategy: 'weekly-etc' }, io),
    ],
  ])('is an error of %s that suggests the nearest name', async (name, command) => {
    const { code, stdout, stderr } = await outputOfCommand(command)
    expect(stderr).toBe(`${name}: no strategy is called weekly-etc; did you mean weekly-eth?\n`)
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })

  test('is an error that lists all names if none is near', async () => {
    const { code, stderr } = await outputOfCommand((config, io) =>
      why('zzzzzzzz', { config }, io, NOW_MS),
    )
    expect(stderr).toBe('why: no strategy is called zzzzzzzz; there are: daily-dai, weekly-eth\n')
    expect(code).toBe(1)
  })
})

const EXIT = `name: exit
kind: threshold
schedule: { cron: "0 9 * * 1" }
sell: WETH
buy: USDC
amount: 100%
entryOf: weekly-eth
takeProfit: 10%
`

test('status shows the entry that a strategy measures its levels from', async () => {
  const project = await aProject(EVENTS)
  writeFileSync(join(project.dir, 'strategies', 'exit.yaml'), EXIT)
  const { stdout } = await printed((io) => status({ config: project.config }, io, NOW_MS))
  expect(stdout).toContain(
    'exit: entry price from weekly-eth, which paid 24.9 USDC for 0.0061 WETH',
  )
})

test('status shows full details of a strategy while another file is broken', async () => {
  const project = await aProject(EVENTS)
  writeFileSync(join(project.dir, 'strategies', 'exit.yaml'), edit(EXIT, 'sell:', 'sel:'))
  const { stdout, stderr } = await printed((io) => status({ config: project.config }, io, NOW_MS))
  expect(stdout).toMatch(/weekly-eth +1 .* in \d+d +filled/)
  expect(stderr).toContain('did you mean `sell`?')
})

test('a reason too long for its row continues below it in full', async () => {
  const detail = 'the order may take 25 USDC, and what is left of the cap of the day is 3 USDC'
  const skipped: EventOf<'slot-closed'> = {
    ...{ type: 'slot-closed', strategy: STRATEGY, slotSeconds: SLOT + 60 },
    ...{ outcome: 'skipped', reason: 'limit-per-day', detail },
  }
  const { config } = await aProject([...EVENTS, skipped])
  const { stdout } = await printed((io) => history({ config, limit: 10 }, io), { columns: 60 })
  expect(stdout.replace(/\n +/g, ' ')).toContain(detail)
  for (const line of stdout.trimEnd().split('\n'))
    expect(line.length <= 60 || !line.trim().includes(' '), line).toBe(true)
})

test('why of a future or unknown slot names the next command to run', async () => {
  const { config } = await aProject(EVENTS)
  const owed = await printed((io) => why(`${STRATEGY}:1999999999`, { config }, io, NOW_MS))
  expect(owed.stderr).toBe(
    'why: the journal has no record of slot weekly-eth:1999999999: it is in the future, or waiting; `tranched plan weekly-eth` shows what it would do now\n',
  )
  const none = await printed((io) => why(`${STRATEGY}:7`, { config }, io, NOW_MS))
  expect(none.stderr).toContain(
    'slot weekly-eth:7: `tranched history --strategy weekly-eth` lists its slots',
  )
})

test('why wraps to the columns of a terminal, and never in a pipe', async () => {
  const { config } = await aProject(EVENTS)
  const narrow = await printed((io) => why(STRATEGY, { config }, io, NOW_MS), { columns: 70 })
  for (const line of narrow.stdout.split('\n'))
    expect(line.length <= 70 || !line.trim().includes(' '), line).toBe(true)
  const piped = await printed((io) => why(STRATEGY, { config }, io, NOW_MS))
  expect(piped.stdout).toMatch(/^.{100,}$/m)
})

test('history and why say of missed slots what the daemon recorded', async () => {
  const run = { firstSeconds: SLOT + 3_600, lastSeconds: SLOT + 3_600, count: 1 }
  const detail = 'chain base could not be read; its maxLateness is 1h'
  const { config } = await aProject([
    ...EVENTS,
    slotsMissed({ strategy: STRATEGY, ...run, detail }),
  ])
  const listed = await printed((io) => history({ config, limit: 10 }, io))
  expect(listed.stdout).toMatch(/ missed +chain base could not be read; its maxLateness is 1h$/m)
  const told = await printed((io) => why(STRATEGY, { config }, io, NOW_MS))
  expect(told.stdout).toMatch(/^ +Chain base could not be read; its maxLateness is 1h\.$/m)
})

test('status names the last of a run of missed slots', async () => {
  const firstSeconds = SLOT + 3_600
  const run = { strategy: STRATEGY, firstSeconds, lastSeconds: SLOT + 7_200, count: 2 }
  const { config } = await aProject([...EVENTS, slotsMissed(run)])
  const { stdout } = await printed((io) => status({ config, json: true }, io, NOW_MS), {
    json: true,
  })
  expect(JSON.parse(stdout).strategies[0].lastSlot).toMatchObject({
    at: new Date((SLOT + 7_200) * 1_000).toISOString().replace('.000', ''),
    outcome: 'missed',
  })
})

test('status counts the last fill from when it was filled, not from its slot', async () => {
  const { config } = await aProject(EVENTS)
  const json = (io: Io) => status({ config, json: true }, io, NOW_MS)
  const { strategies } = JSON.parse((await printed(json, { json: true })).stdout)
  const filledMs = Date.parse(strategies[0].lastFillAt)
  const { stdout } = await printed((io) => status({ config }, io, filledMs + 11_000))
  expect(stdout).toMatch(/ filled 11s ago$/m)
})

describe('with a running daemon', () => {
  const waits =
    'waits, until 2027-01-15T09:00:00.000Z at most: quote-unavailable, connection failed (ECONNREFUSED)'

  /** A project whose state a process holds that answers as a daemon. */
  async function aDaemon(
    answers: Partial<DaemonStatus>,
    files?: Parameters<typeof aProject>[1],
  ): Promise<Project> {
    const project = await aProject([BOUND, scheduled(), opened(intentOf(SLOT))], files)
    const { stateDir, config } = project
    const lock = await acquireLock(stateDir, {
      ...{ pid: process.pid, command: 'tranched run', startedAtMs: NOW_MS, config, mode: 'live' },
    })
    const ready = { ok: true, reasons: [] }
    const socket = await serveControl(controlPath(stateDir), async () => ({
      ok: true,
      result: { stale: null, ready, waiting: {}, ...answers },
    }))
    onTestFinished(async () => {
      await socket.close()
      await lock.release()
    })
    return project
  }

  test('an open order is shown by status and why with what it waits for', async () => {
    const { config } = await aDaemon({ orders: { [`${STRATEGY}:${SLOT}:0`]: waits } })
    const state = await printed((io) => status({ config }, io, NOW_MS))
    expect(state.stdout).toContain(`  ${STRATEGY}:${SLOT}:0: planned, attempt 1, ${waits}\n`)
    const told = await printed((io) => why(STRATEGY, { config }, io, NOW_MS))
    expect(told.stdout).toContain(`\nNow:\n  ${STRATEGY}:${SLOT}:0 ${waits}\n`)
    const json = (io: Io) => why(STRATEGY, { config, json: true }, io, NOW_MS)
    expect(JSON.parse((await printed(json, { json: true })).stdout).waits).toEqual([
      `${STRATEGY}:${SLOT}:0 ${waits}`,
    ])
  })

  test('an open order is shown without it where the daemon does not say', async () => {
    const { config } = await aDaemon({})
    const state = await printed((io) => status({ config }, io, NOW_MS))
    expect(state.stdout).toContain(`  ${STRATEGY}:${SLOT}:0: planned, attempt 1\n`)
    const told = await printed((io) => why(STRATEGY, { config }, io, NOW_MS))
    expect(told.stdout).not.toContain('Now:')
  })

  test('a strategy whose file is refused keeps the slot and the cap of the version in force', async () => {
    const perDay = { [intentOf(SLOT).sell.token.address]: '100000000' }
    const nextSlot = NOW_MS / 1_000 + 3_600
    const stale = { sinceMs: NOW_MS, files: 1, detail: 'weekly-eth.yaml:6:1 amuont: unknown key' }
    const { config } = await aDaemon(
      { stale, inForce: { [STRATEGY]: { nextSlot, perDay } } },
      { strategy: edit(FILE, 'amount:', 'amuont:') },
    )
    const { stdout } = await printed((io) => status({ config }, io, NOW_MS))
    expect(stdout).toMatch(/^weekly-eth +0 +0\/100 USDC +in 1h /m)
  })
})

test('status shows when the next slot opens, its jitter included, until it has opened', async () => {
  const timezone = 'timezone: Europe/Berlin'
  const strategy = edit(FILE, timezone, `${timezone}, jitter: 1h`)
  const { config } = await aProject(EVENTS, { strategy })
  const slot = Date.UTC(2027, 0, 18, 8) / 1_000
  const opensMs = opensAtMs(STRATEGY, { jitterMs: 3_600_000 } as Schedule, slot)
  expect(opensMs).toBeGreaterThan(slot * 1_000 + 60_000)
  for (const nowMs of [NOW_MS, opensMs - 1]) {
    const { stdout } = await printed((io) => status({ config, json: true }, io, nowMs))
    const { strategies } = JSON.parse(stdout) as StatusReport
    expect(strategies[0]?.nextSlotAt).toBe(
      new Date(Math.ceil(opensMs / 1_000) * 1_000).toISOString().replace('.000', ''),
    )
  }
  const { stdout } = await printed((io) => status({ config, json: true }, io, opensMs))
  expect((JSON.parse(stdout) as StatusReport).strategies[0]?.nextSlotAt).toMatch(
    /^2027-01-25T0[89]/,
  )
})
