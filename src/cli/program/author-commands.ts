import type { Command } from 'commander'
import { settingFlags, type TypedFlag } from '../sandbox/settings/flags.ts'
import { duration, port } from './arguments.ts'

/** Headings in the help above the settings of each section. */
const HEADINGS: Readonly<Record<string, string>> = {
  '': 'Settings (each is a key of the settings file too):',
  ports: 'Ports:',
  market: 'Market:',
  gasless: 'Gasless swap service:',
  aggregator: 'Transaction aggregation service:',
}

/** Adds everything that `tranched sandbox` takes; see `addSettingFlags` for the list that comes back. */
export function addSandboxFlags(command: Command): readonly TypedFlag[] {
  command
    .option('--settings <file>', 'settings of the sandbox, YAML; flags come before it')
    .option(
      '--config-out <file>',
      'write a complete live config for this sandbox, and its keys beside it',
    )
    .option(
      '--keep [dir]',
      'keep chains, addresses and keys here, and go on from them at the next start (without a directory: `chain` beside the config, else data/sandbox-chain)',
    )
    .option(
      '--force',
      'begin a new sandbox where --config-out or --keep find one, and replace their files',
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
    .option('--for <duration>', 'stop by itself after this long', duration)
    .option('--json', 'print data')
  return addSettingFlags(command)
}

/**
 * Adds a flag for every setting of the sandbox. The list that comes back fills while the command line is read, in the order
 * in which flags were typed; their values stay text, for the settings' own schema reads them.
 */
export function addSettingFlags(command: Command): readonly TypedFlag[] {
  const typed: TypedFlag[] = []
  for (const { flag, value, section, help } of settingFlags()) {
    const option = command.createOption(`${flag} <${value}>`, help)
    option.argParser((text) => void typed.push({ flag, text }))
    command.addOption(option.helpGroup(HEADINGS[section] ?? ''))
  }
  return typed
}
