import type { Command } from 'commander'
import { settingFlags, type TypedFlag } from '../sandbox/settings/flags.ts'

/** Headings in the help above the settings of each section. */
const HEADINGS: Readonly<Record<string, string>> = {
  '': 'Settings (each is a key of the settings file too):',
  ports: 'Ports:',
  market: 'Market:',
  gasless: 'Gasless swap service:',
  aggregator: 'Transaction aggregation service:',
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
