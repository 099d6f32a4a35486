import { relative } from 'node:path'
import { shellWord } from '../../../domain/text/shell-word.ts'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import type { SandboxReport } from '../../json/author-outputs.ts'

/** Data about a running sandbox that a client needs, without secrets. */
export function sandboxReport(
  sandbox: Omit<Sandbox, 'market' | 'faults' | 'config' | 'failed' | 'stop'>,
  written: Partial<Pick<SandboxReport, 'config' | 'keptIn' | 'isResumed'>>,
): SandboxReport {
  const { contracts, sepolia, tokens, feeds } = sandbox
  const { permit2, multicall3, settlement, sequencerFeed } = contracts
  return {
    rpcUrl: sandbox.rpcUrl,
    gaslessUrl: sandbox.gaslessUrl,
    aggregatorUrl: sandbox.aggregatorUrl,
    sepoliaRpcUrl: sepolia.rpcUrl,
    adminUrl: sandbox.adminUrl,
    chainId: sandbox.chainId,
    aggregatorChainId: sepolia.chainId,
    trader: sandbox.trader.address,
    operator: sandbox.operator.address,
    contracts: { permit2, multicall3, settlement, sequencerFeed },
    tokens: Object.fromEntries(tokens.map(({ symbol, address }) => [symbol, address])),
    feeds: Object.fromEntries(
      feeds.map(({ base, quote, address }) => [`${base}/${quote}`, address]),
    ),
    aggregatorContracts: sepolia.contracts,
    config: written.config ?? null,
    keptIn: written.keptIn ?? null,
    isResumed: written.isResumed === true,
  }
}

const COLUMNS = 100
const DEPOSIT = '0.05'

/**
 * The same for a person, with the next steps, at most 100 columns wide unless a path is longer. `obstacles`: reasons why the
 * next commands would fail, a line each.
 */
export function sandboxText(
  report: SandboxReport,
  from: {
    readonly workingDirectory: string
    readonly obstacles: readonly string[]
    readonly program: string
  },
): string {
  const config = report.config === null ? undefined : shortest(report.config, from.workingDirectory)
  const keptIn = report.keptIn === null ? undefined : shortest(report.keptIn, from.workingDirectory)
  const rows: readonly (readonly [name: string, value: string, note?: string])[] = [
    ['gasless swap service', report.gaslessUrl, 'REST, under /api/v1'],
    [`its chain, id ${report.chainId}`, report.rpcUrl],
    ['aggregation service', report.aggregatorUrl, 'JSON-RPC, described at /docs'],
    [`its chain, id ${report.aggregatorChainId}`, report.sepoliaRpcUrl],
    ['admin port', report.adminUrl, 'prices, funds and faults'],
    ['trader', report.trader, `swaps on chain ${report.chainId}`],
    ['operator', report.operator, `calls on chain ${report.aggregatorChainId}`],
    ['demo target', report.aggregatorContracts.demoTarget, 'a contract to call'],
    ...(config === undefined ? [] : [['config', config] as const]),
    ...(keptIn === undefined ? [] : [['kept in', keptIn] as const]),
  ]
  return [
    openingOf(report),
    '',
    ...aligned(rows),
    '',
    ...obstacleLines(from.obstacles),
    ...(config === undefined
      ? withoutConfig(from.program)
      : nextSteps(report, { config, program: from.program })),
    '',
  ].join('\n')
}

function openingOf({ keptIn, isResumed }: SandboxReport): string {
  const worth = 'their funds are worth nothing.'
  if (keptIn === null) return `Two chains and two services are up; ${worth} Ctrl-C ends them.`
  const are = isResumed ? 'have resumed' : 'are up'
  return `Two chains and two services ${are}; ${worth} Ctrl-C stops and keeps them.`
}

export function partingText(keptIn: string | undefined, workingDirectory: string): string {
  if (keptIn === undefined) return 'The sandbox has ended; its chains and accounts are gone.\n'
  return `The sandbox has stopped. It is kept in ${shortest(keptIn, workingDirectory)}: the same command resumes it.\n`
}

function obstacleLines(obstacles: readonly string[]): readonly string[] {
  if (obstacles.length === 0) return []
  return ['Before anything else:', '', ...obstacles.map((text) => `  ${text}`), '']
}

function withoutConfig(program: string): readonly string[] {
  return [
    'Next: point a client at the addresses above, or start again with a config for the daemon:',
    '',
    `  ${program} sandbox --config-out config/sandbox-live.yaml`,
  ]
}

type Typed = { readonly config: string; readonly program: string }

function nextSteps({ isResumed }: SandboxReport, typed: Typed): readonly string[] {
  if (isResumed) return ['Next, in another terminal:', '', ...command('run', typed)]
  const steps = [`gastank deposit ${DEPOSIT} --yes`, 'delegation set', 'run']
  return [
    'Next, in another terminal (the first two only for strategies that call contracts):',
    '',
    ...steps.flatMap((step) => command(step, typed)),
  ]
}

/** A command to copy; a long one continues on a second line. */
function command(words: string, { config, program }: Typed): readonly string[] {
  const start = `  ${program} ${words}`
  const file = `--config ${shellWord(config)}`
  const whole = `${start} ${file}`
  return whole.length <= COLUMNS ? [whole] : [`${start} \\`, `    ${file}`]
}

function shortest(path: string, workingDirectory: string): string {
  const fromHere = relative(workingDirectory, path)
  return fromHere.length < path.length ? fromHere : path
}

function aligned(
  rows: readonly (readonly [name: string, value: string, note?: string])[],
): readonly string[] {
  const nameWidth = Math.max(...rows.map(([name]) => name.length))
  const noted = rows.filter(([, , note]) => note !== undefined)
  const valueWidth = Math.max(...noted.map(([, value]) => value.length))
  return rows.map(([name, value, note = '']) =>
    `  ${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${note}`.trimEnd(),
  )
}
