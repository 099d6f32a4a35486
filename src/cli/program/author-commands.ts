import type { Command } from 'commander'
import { settingFlags, type TypedFlag } from '../../sandbox/settings/flags.ts'
import { duration, port } from '../arguments.ts'
import { load, type Program, YES } from './program.ts'

export function addAuthoring(program: Program): void {
  addInit(program)
  addSandbox(program)
}

function addInit({ root, io, does }: Program): void {
  root
    .command('init')
    .argument('[dir]', 'folder to write into, "." unless given')
    .description(
      'write configs, strategies and other files to start from; asks for anything that no flag sets',
    )
    .option(
      '--kinds <list>',
      'kinds of strategies, separated by commas: dca, rebalance, threshold, twap, call, custom; or all',
    )
    .option(
      '--mode <mode>',
      "config to write besides the sandbox's: live, dry-run, or sandbox for none",
    )
    .option('--rpc <url>', 'for live: RPC URL of Base; an answer is checked at once')
    .option('--service <url>', 'for live: URL of the swap service')
    .option('--spender <address>', "for live: the service's settlement spender")
    .option('--tokens <list>', 'for live: tokens beside USDC and WETH: DAI, cbBTC, AERO')
    .option('--per-order <amount>', 'for live: most USDC that one order may sell')
    .option('--per-day <amount>', 'for live: most USDC that all orders may sell in 24 hours')
    .option('--amount <amount>', 'for live: USDC of each order of the first strategy')
    .option(...YES)
    .option(
      '--force',
      'replace files that init wrote before, and keep them as .old; never keys, state, passwords or anchors',
    )
    .option('--json', 'print data; do not ask')
    .action(async (dir, options) => does((await load.init()).init({ dir, ...options }, io)))
}

function addSandbox({ root, io, does, signals }: Program): void {
  const command = root
    .command('sandbox')
    .description('run only the services and the local chains, for any client')
  const typed = addSandboxFlags(command)
  command.action(async (options) => {
    // An interrupted start must keep the sandbox and leave no node behind.
    signals.hold()
    return does((await load.sandbox()).sandbox({ ...options, forMs: options.for, typed }, io))
  })
}

const HEADINGS: Readonly<Record<string, string>> = {
  '': 'Settings (each is a key of the settings file too):',
  ports: 'Ports:',
  market: 'Market:',
  gasless: 'Gasless swap service:',
  aggregator: 'Transaction aggregation service:',
}

/** Adds the options of `tranched sandbox`; returns the list of `addSettingFlags`. */
function addSandboxFlags(command: Command): readonly TypedFlag[] {
  command
    .option('--settings <file>', 'settings of the sandbox, YAML; flags override it')
    .option(
      '--config-out <file>',
      'write a complete live config for this sandbox, and its keys beside it',
    )
    .option(
      '--keep [dir]',
      'keep chains, addresses and keys here, and resume from them at the next start (without a directory: `chain` beside the config, else data/sandbox-chain)',
    )
    .option(
      '--force',
      'start a new sandbox even if --config-out or --keep find one, and replace their files',
    )
    .option(
      '--strategies-dir <dir>',
      'strategies directory to name in that config',
      'strategies/sandbox',
    )
    .option('--state-dir <dir>', 'state directory to name in that config', 'data/sandbox-live')
    .option(
      '--http-port <port>',
      'port of the metrics server to name in that config (default: 9464)',
      port,
    )
    .option('--for <duration>', 'stop after this long', duration)
    .option('--json', 'print data')
  return addSettingFlags(command)
}

/** Adds a flag for every sandbox setting. Parsing fills the returned list, in typed order, with text for their schema. */
export function addSettingFlags(command: Command): readonly TypedFlag[] {
  const typed: TypedFlag[] = []
  for (const { flag, value, section, help } of settingFlags()) {
    const option = command.createOption(`${flag} <${value}>`, help)
    option.argParser((text) => void typed.push({ flag, text }))
    command.addOption(option.helpGroup(HEADINGS[section] ?? ''))
  }
  return typed
}
