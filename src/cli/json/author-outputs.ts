import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'
import { done } from './shapes.ts'

export const init = done({
  dir: s.text('absolute path of the folder'),
  written: s.list('new files; file paths are relative to `dir`', s.text()),
  kept: s.list('existing files left as they were', s.text()),
  saved: s.list('backups of replaced files', s.text()),
  appended: s.list('lines added to an existing `.gitignore`', s.text()),
  on: s.list('strategy files that config/live.yaml trades with real money', s.text()),
  next: s.list('commands to run next', s.text()),
  missing: s.list('what trading still needs', {
    what: s.text('human-readable name'),
    check: s.text('command that checks it'),
  }),
})
export type InitData = z.output<typeof init>

export const sandbox = done({
  rpcUrl: s.text('node of the first chain; no URL ends with a slash'),
  gaslessUrl: s.text('gasless swap service: REST, under /api/v1'),
  aggregatorUrl: s.text('aggregation service: JSON-RPC, described at /docs'),
  sepoliaRpcUrl: s.text('node of the second chain, whichever network it stands in for'),
  adminUrl: s.text('admin port: prices, funds and faults'),
  chainId: s.count('id of the first chain'),
  aggregatorChainId: s.count('id of the second chain'),
  trader: s.address('wallet for swaps'),
  operator: s.address('wallet for calls'),
  contracts: s.object('contracts on the first chain', {
    permit2: s.address('Permit2'),
    multicall3: s.address('Multicall3, for batched reads'),
    settlement: s.address('settles orders'),
    sequencerFeed: s.address('reports whether the sequencer is up'),
  }),
  tokens: z.record(s.text(), s.address()).describe('token contracts by symbol'),
  feeds: z.record(s.text(), s.address()).describe('price feeds by BASE/QUOTE'),
  aggregatorContracts: s.object('contracts on the second chain', {
    gasTank: s.address('holds deposits'),
    multicall: s.address('executes batches'),
    trustedProposer: s.address('account code without a replay guard'),
    trustlessProposer: s.address('account code with a replay guard'),
    demoTarget: s.address('contract to call'),
  }),
  config: s.nullable('path of the config; null without `--config-out`', s.text()),
  keptIn: s.nullable('directory of the kept sandbox; null without `--keep`', s.text()),
  isResumed: s.flag('whether it continues a kept sandbox'),
})
export type SandboxData = z.output<typeof sandbox>
export type SandboxReport = Omit<SandboxData, 'ok' | 'problems'>
