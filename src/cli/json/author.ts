import * as z from 'zod'
import { address, count, done, flag, list, text } from './shapes.ts'

/** Outputs of the commands for whoever writes strategies and clients. */

export const init = done({
  dir: text().describe('the folder, as an absolute path'),
  written: list(text()).describe('files, relative to it'),
  kept: list(text()).describe('files that were there and stayed as they were'),
  saved: list(text()).describe('what was replaced, under the names that it has now'),
  appended: list(text()).describe('lines that were added to a `.gitignore` that was there'),
  on: list(text()).describe('strategies that trade with real money under the config for live'),
  next: list(text()).describe('commands to type next'),
})
export type InitData = z.output<typeof init>

export const sandbox = done({
  rpcUrl: text().describe('node of the first chain; URLs end without a slash'),
  gaslessUrl: text().describe('REST, under /api/v1'),
  aggregatorUrl: text().describe('JSON-RPC, described at /docs'),
  sepoliaRpcUrl: text().describe(
    "node of the aggregation service's chain, whichever network it stands in for",
  ),
  adminUrl: text().describe('prices, funds and faults'),
  chainId: count().describe('of the first chain'),
  aggregatorChainId: count().describe('of the second chain'),
  trader: address().describe('wallet for swaps'),
  operator: address().describe('wallet for calls'),
  contracts: z
    .strictObject({
      permit2: address().describe('takes orders'),
      multicall3: address().describe('answers batched reads'),
      settlement: address().describe('settles orders'),
      sequencerFeed: address().describe('says whether the chain is up'),
    })
    .describe('on the first chain'),
  tokens: z.record(text(), address()).describe('address by symbol'),
  feeds: z.record(text(), address()).describe('address by BASE/QUOTE'),
  aggregatorContracts: z
    .strictObject({
      gasTank: address().describe('holds deposits'),
      multicall: address().describe('executes batches'),
      trustedProposer: address().describe('code of accounts'),
      trustlessProposer: address().describe('code of accounts'),
      demoTarget: address().describe('something to call'),
    })
    .describe('on the second chain'),
  config: text().nullable().describe('the config that was written; null without `--config-out`'),
  keptIn: text().nullable().describe('directory that it is kept in; null without `--keep`'),
  isResumed: flag().describe('whether it goes on from a start before'),
})
export type SandboxData = z.output<typeof sandbox>
/** Without what stands around the data of every command. */
export type SandboxReport = Omit<SandboxData, 'ok' | 'problems'>
