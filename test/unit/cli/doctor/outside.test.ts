import { expect, test } from 'vitest'
import { lookAtChains } from '../../../../src/cli/commands/doctor/ask/chains.ts'
import type { Known } from '../../../../src/cli/commands/doctor/ask/known.ts'
import { lookOutside } from '../../../../src/cli/commands/doctor/ask/outside.ts'
import type { Asking } from '../../../../src/cli/compose/checkup.ts'
import { loadSettings } from '../../../../src/config/settings/load.ts'
import { emptyState } from '../../../../src/domain/book/fields.ts'
import type { Settings } from '../../../../src/domain/settings.ts'
import { WALLET } from '../../../../src/simulate/stage.ts'
import { aStrategy, NOON_SECONDS } from '../../../support/builders.ts'
import { CONFIG } from '../../config/config-fixture.ts'
import { troubles, verdicts } from './verdicts.ts'

const SILENT = { ok: false, fault: { tag: 'unavailable', message: 'node 1 of 1: gone' } } as const
const SERVICE_GONE = { ok: false, fault: { tag: 'unavailable', message: 'gone' } } as const

function settings(): Settings {
  const loaded = loadSettings({ file: '/c.yaml', env: {}, readFile: () => CONFIG })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.settings
}

/** Everything is gone, and what is asked is counted. */
function goneAsking(changes: Partial<Asking> = {}) {
  const asked: string[] = []
  const gone = (name: string) => () => {
    asked.push(name)
    return Promise.resolve(SILENT)
  }
  const asking: Asking = {
    now: () => NOON_SECONDS * 1_000,
    async nodes() {
      asked.push('nodes')
      const node = {
        ...{ label: 'node 1 of 1', met: SILENT, history: undefined, common: undefined },
        limits: { batch: undefined, logBlocks: undefined },
      }
      return [node]
    },
    fees: gone('fees'),
    code: gone('code'),
    tokens: gone('tokens'),
    view: gone('view'),
    rights: gone('rights'),
    operator: undefined,
    async service() {
      return { reply: SERVICE_GONE, durationMs: 1, clockOffsetMs: undefined, remaining: undefined }
    },
    quote: () => Promise.reject(new Error('nobody has a price to hold it against')),
    disk: () => Promise.reject(new Error('not asked here')),
    supervisor: () => Promise.reject(new Error('not asked here')),
    close: () => Promise.resolve(),
    ...changes,
  }
  return { asking, asked }
}

function known(of: Settings): Known {
  return {
    settings: of,
    strategies: [aStrategy()],
    state: emptyState(),
    owner: WALLET,
    operator: undefined,
  }
}

test('a chain none of whose nodes answers is one fault, and nothing more is asked of it', async () => {
  const { asking, asked } = goneAsking()
  const chains = await lookAtChains({ settings: settings() }, asking)
  expect(verdicts(chains.checks)).toEqual(chains.checks.map(() => 'fault node'))
  const checks = await lookOutside(known(chains.settings), asking)
  const [service, ...others] = checks.filter(({ verdict }) => verdict === 'fault')
  expect([service?.id, others]).toEqual(['gasless', []])
  expect(new Set(asked)).toEqual(new Set(['nodes']))
  expect(verdicts(checks)).toEqual(
    expect.arrayContaining(['unknown code', 'unknown wallet', 'unknown quote']),
  )
})

test('what one look throws is said, and keeps nobody from the others', async () => {
  const { asking } = goneAsking({ code: () => Promise.reject(new Error('a bug')) })
  const checks = await lookOutside(known(settings()), asking)
  expect(troubles(checks)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^unknown code: code: it could not be looked at: a bug/),
      expect.stringMatching(/^fault gasless: /),
      expect.stringMatching(
        /^unknown wallet: the wallet that trades could not be read: node 1 of 1: gone/,
      ),
    ]),
  )
})

test("a node of another chain is asked nothing more, and its first block is not taken for the state's", async () => {
  const met = { headNumber: 9n, headSeconds: NOON_SECONDS, latencyMs: 1 }
  const sight = (n: number, chainId: number, genesisHash: `0x${string}`) => ({
    label: `node ${n} of 2`,
    met: { ok: true, value: { ...met, chainId, genesisHash } } as const,
    ...{ history: undefined, common: undefined },
    limits: { batch: undefined, logBlocks: undefined },
  })
  const { asking } = goneAsking({
    nodes: async () => [sight(1, 1, '0xbad'), sight(2, 8453, '0x60')],
  })
  const of = settings()
  const base = of.chains.get('base')
  if (base === undefined) throw new Error('the fixture has no chain named base')
  const rpcUrls = ['https://one.example', 'https://two.example']
  const chains = new Map([['base', { ...base, rpcUrls }]])
  const looked = await lookAtChains({ settings: { ...of, chains } }, asking)
  expect(looked.genesisHash).toBe('0x60')
  expect(looked.settings.chains.get('base')?.rpcUrls).toEqual(['https://two.example'])
  expect(verdicts(looked.checks)).toEqual(['fault node-chain', 'fine node'])
})
