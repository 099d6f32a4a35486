import { expect, test } from 'vitest'
import type { Known } from '../../../../src/cli/commands/doctor/check.ts'
import { inspectChains } from '../../../../src/cli/commands/doctor/check-chains.ts'
import { inspectOutside } from '../../../../src/cli/commands/doctor/doctor.ts'
import type { Probes } from '../../../../src/cli/compose/checkup.ts'
import { loadSettings } from '../../../../src/config/settings/load-settings.ts'
import type { Settings } from '../../../../src/domain/settings.ts'
import { emptyState } from '../../../../src/journal/state/state-image.ts'
import { WALLET } from '../../../simulation/stage.ts'
import { aStrategy, NOON_SECONDS } from '../../../support/builders.ts'
import { CONFIG } from '../../config/config-fixture.ts'
import { findings, verdicts } from './verdicts.ts'

const SILENT = { ok: false, fault: { tag: 'unavailable', message: 'node 1 of 1: gone' } } as const
const SERVICE_GONE = { ok: false, fault: { tag: 'unavailable', message: 'gone' } } as const

function settings(): Settings {
  const loaded = loadSettings({ file: '/c.yaml', env: {}, readFile: () => CONFIG })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.settings
}

/** Probes that all fail, and the list of requests made. */
function failingProbes(changes: Partial<Probes> = {}) {
  const requests: string[] = []
  const gone = (name: string) => () => {
    requests.push(name)
    return Promise.resolve(SILENT)
  }
  const probes: Probes = {
    now: () => NOON_SECONDS * 1_000,
    async nodes() {
      requests.push('nodes')
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
    quote: () => Promise.reject(new Error('there is no price to compare it with')),
    disk: () => Promise.reject(new Error('not requested here')),
    supervisor: () => Promise.reject(new Error('not requested here')),
    close: () => Promise.resolve(),
    ...changes,
  }
  return { probes, requests }
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

test('a chain without an answering node is one fault, and gets no further requests', async () => {
  const { probes, requests } = failingProbes()
  const chains = await inspectChains({ settings: settings() }, probes)
  expect(verdicts(chains.checks)).toEqual(chains.checks.map(() => 'fault node'))
  const checks = await inspectOutside(known(chains.settings), probes)
  const [service, ...others] = checks.filter(({ verdict }) => verdict === 'fault')
  expect([service?.id, others]).toEqual(['gasless', []])
  expect(new Set(requests)).toEqual(new Set(['nodes']))
  expect(verdicts(checks)).toEqual(
    expect.arrayContaining(['unknown code', 'unknown wallet', 'unknown quote']),
  )
})

test('an exception in one check is reported, and the other checks still run', async () => {
  const { probes } = failingProbes({ code: () => Promise.reject(new Error('a bug')) })
  const checks = await inspectOutside(known(settings()), probes)
  expect(findings(checks)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^unknown code: code: could not be checked: a bug/),
      expect.stringMatching(/^fault gasless: /),
      expect.stringMatching(
        /^unknown wallet: the trading wallet could not be read: node 1 of 1: gone/,
      ),
    ]),
  )
})

test("a node of another chain gets no further requests, and its first block is not taken for the state's", async () => {
  const met = { headNumber: 9n, headSeconds: NOON_SECONDS, latencyMs: 1 }
  const snapshot = (n: number, chainId: number, genesisHash: `0x${string}`) => ({
    label: `node ${n} of 2`,
    met: { ok: true, value: { ...met, chainId, genesisHash } } as const,
    ...{ history: undefined, common: undefined },
    limits: { batch: undefined, logBlocks: undefined },
  })
  const { probes } = failingProbes({
    nodes: async () => [snapshot(1, 1, '0xbad'), snapshot(2, 8453, '0x60')],
  })
  const of = settings()
  const base = of.chains.get('base')
  if (base === undefined) throw new Error('the fixture has no chain named base')
  const rpcUrls = ['https://one.example', 'https://two.example']
  const chains = new Map([['base', { ...base, rpcUrls }]])
  const found = await inspectChains({ settings: { ...of, chains } }, probes)
  expect(found.genesisHash).toBe('0x60')
  expect(found.settings.chains.get('base')?.rpcUrls).toEqual(['https://two.example'])
  expect(verdicts(found.checks)).toEqual(['fault node-chain', 'fine node'])
})
