import type { Settings } from '../../../src/domain/settings.ts'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { USDC, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { OPEN } from '../builders.ts'

/** The settings that a page reads. */
export function pageSettings(stateDir: string, changes: Partial<Settings> = {}): Settings {
  const chain = { rpcUrls: [], finality: 5, agree: 1 } as const
  return {
    mode: 'live',
    stateDir,
    journal: { archive: undefined, keepFiles: 64 },
    http: {
      host: '127.0.0.1',
      port: 0,
      hosts: [],
      page: true,
      control: undefined,
      viewTokenFile: undefined,
    },
    chains: new Map([
      ['base', { ...chain, name: 'base', chainId: 8453, explorer: 'https://explorer.example/' }],
      ['sepolia', { ...chain, name: 'sepolia', chainId: 11_155_111, explorer: undefined }],
    ]),
    gasless: { chain: 'base', wallet: 'trader' },
    aggregator: {
      chain: 'sepolia',
      wallet: 'operator',
      gasTank: { alertBelowWei: 10n ** 16n, topUp: undefined, methods: 'auto' },
    },
    tokens: new Map([
      ['USDC', USDC],
      ['WETH', WETH],
    ]),
    prices: new Map([['WETH/USDC', WETH_USDC]]),
    limits: { ...OPEN, perDay: NO_CAPS, maxDeviationBps: 200, maxOpenIntents: undefined },
    ...changes,
  } as unknown as Settings
}
