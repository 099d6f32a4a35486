import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Where a part of the program lies that is a file of its own: beside the program in a build; from a source file, in the build of the
 * same checkout. Undefined where there is none.
 */
export function installedPart(name: string): string | undefined {
  let dir = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    const found = [join(dir, name), join(dir, 'dist', name)].find((file) => existsSync(file))
    if (found !== undefined) return found
    const above = dirname(dir)
    if (above === dir) return undefined
    dir = above
  }
}

/** The same of what every installation has. */
export function requiredPart(name: string): string {
  const found = installedPart(name)
  if (found === undefined) throw new Error(`the installation is incomplete: ${name} is missing`)
  return found
}
