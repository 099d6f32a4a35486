// What `npm pack` begins with: refuses files that would leave with the package by mistake, and builds.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folders that `files` of package.json takes whole, and in which operators may keep files of their own. */
const TAKEN_WHOLE = ['config/grafana', 'config/prometheus', 'config/schema', 'strategies', ':(glob)docs/*.md', 'docs/images', 'docs/internals', 'deploy']

const root = fileURLToPath(new URL('..', import.meta.url))
const strays = filesOfNobody()
if (strays.length > 0) {
  console.error(`prepack: these would be in the package, and no commit has them:\n  ${strays.join('\n  ')}\nMove them away, or commit them.`)
  process.exit(1)
}
const { status } = spawnSync(process.execPath, [join(root, 'scripts/ensure.mjs'), 'build'], { stdio: ['ignore', 2, 2] })
process.exit(status ?? 1)

/** None where there is no git: an archive holds what was committed. */
function filesOfNobody() {
  const { status, stdout } = spawnSync('git', ['-C', root, 'ls-files', '--others', '--', ...TAKEN_WHOLE], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter((file) => file !== '') : []
}
