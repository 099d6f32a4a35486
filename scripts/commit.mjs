// Which commit a build is made from. No packages: scripts/ensure.mjs runs before they are there.
import { spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'

const DIGITS = 7

/** What a build is made of, by path from the root: changes elsewhere do not change the program. */
export const SOURCES = ['src', 'scripts/build.mjs', 'scripts/commit.mjs', 'package.json', 'package-lock.json']

/**
 * `741c21a`, or `741c21a+changes` where the sources are not as they were committed. Where there is no git (an archive, an image's
 * context) it is what TRANCHED_COMMIT says, and undefined without that.
 */
export function commitOf(root) {
  // A copy that lies in a repository of somebody else must not be called by a commit of that one.
  const top = git(root, 'rev-parse', '--show-toplevel')
  if (top === undefined || realpathSync(top) !== realpathSync(root)) return process.env.TRANCHED_COMMIT || undefined
  const head = git(root, 'rev-parse', 'HEAD')
  const changed = git(root, 'status', '--porcelain', '--', ...SOURCES)
  if (head === undefined || changed === undefined) return undefined
  return `${head.slice(0, DIGITS)}${changed === '' ? '' : '+changes'}`
}

function git(root, ...args) {
  const { status, stdout } = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
