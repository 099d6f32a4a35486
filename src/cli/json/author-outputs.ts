import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'
import { done } from './shapes.ts'

export const init = done({
  dir: s.text('the folder, as an absolute path'),
  written: s.list('files, relative to it', s.text()),
  kept: s.list('files that were there and stayed as they were', s.text()),
  saved: s.list('what was replaced, under the names that it has now', s.text()),
  appended: s.list('lines that were added to a `.gitignore` that was there', s.text()),
  on: s.list('strategies that trade with real money under the config for live', s.text()),
  next: s.list('commands to type next', s.text()),
})
export type InitData = z.output<typeof init>

export const sandbox = done({
  rpcUrl: s.text('node of the first chain; URLs end without a slash'),
  gaslessUrl: s.text('REST, under /api/v1'),
  aggregatorUrl: s.text('JSON-RPC, described at /docs'),
  sepoliaRpcUrl: s.text(
    "node of the aggregation service's chain, whichever network it stands in for",
  ),
  adminUrl: s.text('prices, funds and faults'),
  chainId: s.count('of the first chain'),
  aggregatorChainId: s.count('of the second chain'),
  trader: s.address('wallet for swaps'),
  operator: s.address('wallet for calls'),
  contracts: s.object('on the first chain', {
    permit2: s.address('takes orders'),
    multicall3: s.address('answers batched reads'),
    settlement: s.address('settles orders'),
    sequencerFeed: s.address('says whether the chain is up'),
  }),
  tokens: z.record(s.text(), s.address()).describe('address by symbol'),
  feeds: z.record(s.text(), s.address()).describe('address by BASE/QUOTE'),
  aggregatorContracts: s.object('on the second chain', {
    gasTank: s.address('holds deposits'),
    multicall: s.address('executes batches'),
    trustedProposer: s.address('code of accounts'),
    trustlessProposer: s.address('code of accounts'),
    demoTarget: s.address('something to call'),
  }),
  config: s.nullable('the config that was written; null without `--config-out`', s.text()),
  keptIn: s.nullable('directory that it is kept in; null without `--keep`', s.text()),
  isResumed: s.flag('whether it goes on from a start before'),
})
export type SandboxData = z.output<typeof sandbox>
export type SandboxReport = Omit<SandboxData, 'ok' | 'problems'>
