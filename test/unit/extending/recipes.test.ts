import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { OUTPUTS as Outputs } from '../../../src/cli/json/outputs.ts'
import type { ExitCode } from '../../../src/cli/process/io.ts'
import type { createProgram } from '../../../src/cli/program/root.ts'
import type { notifySchema, receiversOf } from '../../../src/config/settings/notify.ts'
import type { logAndMeasure } from '../../../src/journal/events/outputs.ts'
import type {
  JournalEvent,
  Recorded,
  reduceRecorded,
} from '../../../src/journal/events/registry.ts'
import type { emptyState } from '../../../src/journal/state/state-image.ts'
import type { timelineOf } from '../../../src/journal/timeline.ts'
import type { createMetrics } from '../../../src/observe/metrics.ts'
import type { loadStrategies } from '../../../src/strategies/files/load-strategies.ts'
import type { kindOf } from '../../../src/strategies/registry.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import type { executeIntent } from '../../../src/venues/execute-intent.ts'
import { aMarketView, usdcPerWeth } from '../../support/market-view.ts'
import { MESSAGE } from '../../support/notify/messages.ts'
import { recipeOf, SourceTree } from '../../support/recipe.ts'
import {
  BOUND,
  callIntentOf,
  opened,
  STRATEGY,
  scheduled,
} from '../../support/state/journal-events.ts'
import { aProject, printed } from '../cli/reading-fixture.ts'
import { settingsOf } from '../config/config-fixture.ts'

const RECIPES = {
  channel: recipeOf('A notification channel'),
  event: recipeOf('A journal event'),
  metric: recipeOf('A metric'),
  kind: recipeOf('A strategy kind'),
  venue: recipeOf('A venue'),
  command: recipeOf('A command'),
}

// One tree for all recipes, which change different files: the compiler takes longer than the rest of this file.
let tree: SourceTree
beforeAll(() => {
  tree = new SourceTree()
  for (const recipe of Object.values(RECIPES)) tree.follow(recipe)
})
afterAll(() => tree.remove())

const CHANNEL = 'src/observe/notify/channels/gotify.ts'
const EVENTS = 'src/journal/events'
const KIND = 'src/strategies/surplus/surplus-kind.ts'

describe('a notification channel', () => {
  const TOKEN = 'token-of-an-application'
  const recipe = RECIPES.channel

  test('a channel is one file and a registry entry', () => {
    expect([...recipe.files.keys()]).toEqual([CHANNEL])
    expect([...new Set(recipe.changes.map(({ file }) => file))]).toEqual([
      'src/observe/notify/channels/channels.ts',
    ])
  })

  test('the recipe compiles, and its channel is parsed, masked and sends', async () => {
    expect(tree.typeErrors()).toEqual([])
    const posts: unknown[] = []
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        posts.push([request.url, request.headers['x-gotify-key'], JSON.parse(body)])
        response.end('{}')
      })
    })
    onTestFinished(() => {
      server.close()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo

    const config = (await tree.load('src/config/settings/notify.ts')) as {
      notifySchema: typeof notifySchema
      receiversOf: typeof receiversOf
    }
    const given = { gotify: [{ server: `http://127.0.0.1:${port}`, token: TOKEN }] }
    const [receiver] = config.receiversOf(config.notifySchema.parse(given))
    expect(receiver?.name).toBe('gotify-1')
    expect(receiver?.texts().flatMap(({ field, text }) => field.secretsIn(text))).toEqual([TOKEN])
    const channel = await receiver?.open({ clock: { now: Date.now } })
    const message = { ...MESSAGE, subject: 'dca traded', lines: ['At a price.'], when: 'now' }
    const delivered = await channel?.deliver(message, new AbortController().signal)
    await channel?.close()
    expect(delivered).toEqual({ ok: true })
    const body = { title: 'dca traded', message: 'At a price.\nnow', priority: 2 }
    expect(posts).toEqual([['/message', TOKEN, body]])
  })
})

describe('a journal event and a metric', () => {
  const { event, metric } = RECIPES

  test('an event is a module, an output, and an entry in each of the two registries', () => {
    expect([...event.files.keys()]).toEqual([
      `${EVENTS}/strategy/notes.ts`,
      `${EVENTS}/strategy/notes-output.ts`,
    ])
    const changed = new Set(event.changes.map(({ file }) => file))
    expect([...changed]).toEqual([`${EVENTS}/registry.ts`, `${EVENTS}/outputs.ts`])
  })

  test('a metric is declared in one place and counted in one place', () => {
    expect(metric.files.size).toBe(0)
    expect(metric.changes.map(({ file }) => file)).toEqual([
      'src/observe/metrics/state-metrics.ts',
      `${EVENTS}/strategy/stops-output.ts`,
    ])
  })

  test('both recipes compile; the event is logged and shown, and the metric is counted', async () => {
    expect(tree.typeErrors()).toEqual([])
    const { reduceRecorded: reduce } = (await tree.load(`${EVENTS}/registry.ts`)) as {
      reduceRecorded: typeof reduceRecorded
    }
    const { logAndMeasure: report } = (await tree.load(`${EVENTS}/outputs.ts`)) as {
      logAndMeasure: typeof logAndMeasure
    }
    const { emptyState: begin } = (await tree.load('src/journal/state/state-image.ts')) as {
      emptyState: typeof emptyState
    }
    const { createMetrics: create } = (await tree.load('src/observe/metrics.ts')) as {
      createMetrics: typeof createMetrics
    }
    const { timelineOf: timeline } = (await tree.load('src/journal/timeline.ts')) as {
      timelineOf: typeof timelineOf
    }
    const note = { type: 'note-taken', strategy: STRATEGY, detail: 'until the fork' }
    const pause = {
      type: 'strategy-paused',
      strategy: STRATEGY,
      cause: 'operator',
      detail: 'requested',
    }
    const state = begin()
    const records = [BOUND, scheduled(), note, pause].map((each, index) =>
      reduce(state, each as Parameters<typeof reduce>[1], { seq: index + 1, atMs: index }),
    )
    const lines: unknown[] = []
    const write = (text: string): void => void lines.push(text)
    const log = { enabled: () => true, debug: write, info: write, warn: write, error: write }
    const metrics = create({ version: '1' })
    const to = { log, metrics } as unknown as Parameters<typeof report>[1]
    for (const each of records) report(each as Recorded, to)
    expect(lines).toContain(`note on ${STRATEGY}: until the fork`)
    const read = records.slice(2) as unknown as Parameters<typeof timeline>[0]
    expect(timeline(read, []).map(({ title }) => title)).toContain('note: until the fork')
    expect(await metrics.render()).toContain(`tranched_pauses_total{strategy="${STRATEGY}"} 1`)
  })
})

const FILE = `name: skim
kind: surplus
schedule: { cron: "0 9 * * 1" }
sell: USDC
buy: WETH
keep: "500"
`

describe('a strategy kind', () => {
  const recipe = RECIPES.kind

  test('a kind is one folder and an entry in each of the two registries', () => {
    expect([...recipe.files.keys()]).toEqual([KIND, 'src/strategies/surplus/surplus-schema.ts'])
    expect([...new Set(recipe.changes.map(({ file }) => file))]).toEqual([
      'src/strategies/registry.ts',
      'src/strategies/schemas.ts',
    ])
  })

  test('the recipe compiles, and its strategy is parsed, described and decided', async () => {
    expect(tree.typeErrors()).toEqual([])
    const { loadStrategies: load } = (await tree.load(
      'src/strategies/files/load-strategies.ts',
    )) as {
      loadStrategies: typeof loadStrategies
    }
    const read = (text: string) =>
      load({
        dir: 'strategies',
        settings: settingsOf(),
        listFiles: () => ['skim.yaml'],
        readFile: () => text,
      })
    const loaded = read(FILE)
    const [strategy] = loaded.ok ? loaded.strategies : []
    if (strategy === undefined) expect.unreachable('the file is not read')
    expect(read(FILE.replace('"500"', 'half'))).toMatchObject({
      ok: false,
      problems: [{ path: 'keep', message: 'this is not a plain decimal' }],
    })
    expect(read(FILE.replace('surplus', 'skimming'))).toMatchObject({
      ok: false,
      problems: [{ hint: '`kind: surplus` sells what is above `keep`' }],
    })

    const registry = (await tree.load('src/strategies/registry.ts')) as { kindOf: typeof kindOf }
    const kind = registry.kindOf(strategy)
    expect(kind.describe(strategy)).toBe('surplus above 500 USDC -> WETH')
    const { decision } = kind
    if (decision.by !== 'market') expect.unreachable('it decides by the market')
    const [usdc, weth] = kind.assets(strategy).map(({ token }) => token)
    if (usdc === undefined || weth === undefined) expect.unreachable('it trades two tokens')
    const decidedWith = (dollars: bigint) =>
      decision.decide(
        strategy,
        aMarketView({
          balances: new Map([[usdc, dollars * 10n ** 6n]]),
          prices: [{ sell: usdc, buy: weth, ratio: usdcPerWeth(250_000n) }],
        }),
      )
    expect(decidedWith(400n)).toMatchObject({ tag: 'skip', reason: 'below-minimum' })
    expect(decidedWith(525n)).toMatchObject({
      tag: 'trade',
      intents: [{ strategy: 'skim', size: { side: 'sell', amount: 25_000_000n } }],
    })
  })
})

describe('a venue', () => {
  test('a venue is a folder, an entry in each of the two registries, and the type of its intents', () => {
    expect([...RECIPES.venue.files.keys()]).toEqual([
      'src/venues/hand/hand-projection.ts',
      'src/venues/hand/hand-venue.ts',
    ])
    expect([...new Set(RECIPES.venue.changes.map(({ file }) => file))]).toEqual([
      'src/domain/order/intent.ts',
      'src/journal/state/daemon-state.ts',
      'src/venues/projections.ts',
      'src/venues/venues.ts',
    ])
  })

  test('the recipe compiles, and its venue carries an order to its end', async () => {
    expect(tree.typeErrors()).toEqual([])
    const { reduceRecorded: reduce } = (await tree.load('src/journal/events/registry.ts')) as {
      reduceRecorded: typeof reduceRecorded
    }
    const { emptyState: begin } = (await tree.load('src/journal/state/state-image.ts')) as {
      emptyState: typeof emptyState
    }
    const { timelineOf: timeline } = (await tree.load('src/journal/timeline.ts')) as {
      timelineOf: typeof timelineOf
    }
    const { executeIntent: execute } = (await tree.load('src/venues/execute-intent.ts')) as {
      executeIntent: typeof executeIntent
    }

    const state = begin()
    const records: Recorded[] = []
    const append = async (...events: readonly JournalEvent[]): Promise<void> => {
      for (const event of events)
        records.push(reduce(state, event, { seq: records.length + 1, atMs: nowMs }) as Recorded)
    }
    let nowMs = 2_000_000
    const clock = {
      now: () => nowMs,
      sleep: async (ms: number) => {
        nowMs += ms
      },
    }
    const { signal } = new AbortController()
    const context = {
      ports: { journal: { state, append, note: append }, clock },
      strategies: new Map(),
      account: {},
      requests: { handle: async () => undefined },
      closing: signal,
      stop: signal,
    } as unknown as OrderContext

    const intent = {
      ...callIntentOf(2_000),
      venue: 'hand',
      task: 'move 5 ETH into the vault',
    } as unknown as ReturnType<typeof callIntentOf>
    await append(BOUND, scheduled(), opened(intent))
    await execute(context, intent.id)

    expect(nowMs).toBeGreaterThan(intent.startBeforeMs)
    expect(state.intents.size).toBe(0)
    const parts = timeline(records as unknown as Parameters<typeof timeline>[0], [])
    const text = parts.flatMap(({ title, messages: sentences }) => [title, ...sentences]).join('\n')
    expect(text).toContain(`Order ${intent.id}: by hand: move 5 ETH into the vault.`)
    expect(text).toContain('not carried out in time')
  })
})

describe('a command', () => {
  test('a command is one file, its registration, an example and the schema of its output', () => {
    const { files, changes } = RECIPES.command
    expect([...files.keys()]).toEqual(['src/cli/commands/inspect/tally.ts'])
    expect([...new Set(changes.map(({ file }) => file))]).toEqual([
      'src/cli/json/inspect-outputs.ts',
      'src/cli/json/outputs.ts',
      'src/cli/program/program.ts',
      'src/cli/program/inspect-commands.ts',
      'src/cli/program/examples.ts',
    ])
  })

  test('the recipe compiles, and its command runs and prints data that matches its schema', async () => {
    expect(tree.typeErrors()).toEqual([])
    const { config } = await aProject([BOUND, scheduled()])
    const { createProgram: create } = (await tree.load('src/cli/program/root.ts')) as {
      createProgram: typeof createProgram
    }
    const run = (...args: readonly string[]) =>
      printed(async (io) => {
        let code: ExitCode = 1
        const does = async (outcome: ExitCode | Promise<ExitCode>): Promise<void> => {
          code = await outcome
        }
        const signals = {} as Parameters<typeof createProgram>[0]['signals']
        const program = create({ io, signals, does })
        await program.parseAsync(['node', 'tranched', 'tally', '--config', config, ...args])
        return code
      })
    const text = await run()
    expect(text).toMatchObject({ code: 0, stderr: '' })
    expect(text.stdout).toMatch(/^STRATEGY +FILLS\n[\w-]+ +0\n$/)
    const { OUTPUTS } = (await tree.load('src/cli/json/outputs.ts')) as { OUTPUTS: typeof Outputs }
    const data = JSON.parse((await run('--json')).stdout)
    expect(OUTPUTS['tally']?.shapes['']?.parse(data)).toMatchObject({
      strategies: [{ name: STRATEGY, fills: 0 }],
    })
  })
})

describe('incomplete recipes', () => {
  let errors: readonly string[]
  beforeAll(() => {
    tree.change(CHANNEL, 'token: secret(', 'token: ((schema) => schema)(')
    tree.change(`${EVENTS}/outputs.ts`, '  ...NOTE_OUTPUTS,\n', '')
    tree.change(KIND, '  slicedTotal: none,\n', '')
    tree.change('src/strategies/schemas.ts', '  surplus: surplusFile,\n', '')
    tree.change('src/venues/hand/hand-venue.ts', '  resolve: nothingSigned,\n', '')
    errors = tree.typeErrors()
  })

  test('a setting that does not declare whether it is secret does not compile', () => {
    expect(errors.filter((line) => line.startsWith(CHANNEL)).join()).toMatch(/missing.* secretsIn/)
  })

  test('an event without an output does not compile', () => {
    expect(errors.join()).toContain('"note-taken"')
  })

  test('a venue without a step does not compile', () => {
    expect(errors.filter((line) => line.startsWith('src/venues/')).join()).toContain("'resolve'")
  })

  test('a kind without a member or a schema does not compile', () => {
    const lacks = errors.map((line) => line.replace(/\(.*?Property ('\w+').*/, ' lacks $1'))
    expect(lacks).toContain("src/strategies/surplus/surplus-kind.ts lacks 'slicedTotal'")
    expect(lacks).toContain("src/strategies/schemas.ts lacks 'surplus'")
  })
})
