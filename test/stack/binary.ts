import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Path of a program that the stack tests need. Throws with the remedy: a missing one must fail, not skip. */
export function findBinary(name: string): string {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable)
  if (found === undefined)
    throw new Error(
      `${name} is not on the PATH: install the Debian packages prometheus and prometheus-alertmanager, or run .ci/run, which unpacks them`,
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
