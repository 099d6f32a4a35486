import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const PACKAGES: Readonly<Record<string, string>> = {
  prometheus: 'prometheus',
  promtool: 'prometheus',
  amtool: 'prometheus-alertmanager',
  chromium: 'chromium',
  'systemd-analyze': 'systemd',
}

/** Path of a program that the stack tests need. Throws with the remedy: a missing program must fail, not skip. */
export function findBinary(name: string): string {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable)
  if (found === undefined)
    throw new Error(
      `${name} is not on the PATH: install the Debian package ${PACKAGES[name] ?? name}, or run .ci/run, which sees to it`,
    )
  return found
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
