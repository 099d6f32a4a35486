import type { SettingRow } from './row.ts'

/** What concerns the sandbox as a whole: what it is like, where it listens, its prices. */
export const GENERAL_SETTINGS = [
  {
    path: 'reading',
    flag: '--reading',
    value: 'deployed|described',
    byDefault: 'deployed',
    meaning:
      'What open points are like: as deployments have them, or the plain reading of the description (gasTank balanceOf, gasLimit target, domain proposer, listDomainType false, unless given themselves)',
  },
  {
    path: 'seed',
    flag: '--seed',
    value: 'n',
    byDefault: '1',
    meaning: 'Seed of the prices: the same seed, the same prices',
  },
  {
    path: 'blockInterval',
    flag: '--block-interval',
    value: 'duration',
    byDefault: '1s',
    meaning:
      'Time between blocks of both chains when nothing is sent; 0s mines only what is sent, and time on the chains stands still between',
  },
  {
    path: 'faults',
    flag: '--faults',
    value: 'file',
    isPath: true,
    byDefault: '',
    meaning:
      'File with faults to begin with, YAML or JSON; in the settings file also the faults themselves',
  },
  {
    path: 'ports.rpc',
    flag: '--rpc-port',
    value: 'port',
    byDefault: '0',
    meaning: 'Node of chain 8453; 0 is any free port',
  },
  {
    path: 'ports.gasless',
    flag: '--gasless-port',
    value: 'port',
    byDefault: '0',
    meaning: 'Gasless swap service; 0 is any free port',
  },
  {
    path: 'ports.admin',
    flag: '--admin-port',
    value: 'port',
    byDefault: '0',
    meaning: 'Admin port; 0 is any free port',
  },
  {
    path: 'ports.aggregatorRpc',
    flag: '--aggregator-rpc-port',
    value: 'port',
    byDefault: '0',
    meaning: "Node of the aggregation service's chain; 0 is any free port",
  },
  {
    path: 'ports.aggregator',
    flag: '--aggregator-port',
    value: 'port',
    byDefault: '0',
    meaning: 'Transaction aggregation service; 0 is any free port',
  },
  {
    path: 'market.feedInterval',
    flag: '--feed-interval',
    value: 'duration',
    byDefault: '1s',
    meaning:
      'Time between market steps, each pushed to the feeds; 0s leaves them to the admin port',
  },
  {
    path: 'market.ownDepthUsd',
    flag: '--own-depth-usd',
    value: 'usd',
    byDefault: '2000000',
    meaning: 'Whole dollars on each side of an own pool',
  },
  {
    path: 'market.ownShareMaxBps',
    flag: '--own-share-max-bps',
    value: 'bps',
    byDefault: '2500',
    meaning: 'Basis points of its depth beyond which an own pool quotes nothing',
  },
  {
    path: 'market.externalDepthUsd',
    flag: '--external-depth-usd',
    value: 'usd',
    byDefault: '20000000',
    meaning: 'Whole dollars of external liquidity',
  },
  {
    path: 'market.externalSpreadBps',
    flag: '--external-spread-bps',
    value: 'bps',
    byDefault: '10',
    meaning: 'Basis points that external liquidity costs on top of its price impact',
  },
] as const satisfies readonly SettingRow[]
