// `npm run check`: runs every script of package.json that is called `check:...`, in parallel. Each prints once it has
// ended, so that its output stays together.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const PATH = [fileURLToPath(new URL('../node_modules/.bin', import.meta.url)), process.env.PATH].join(delimiter)

async function run(name) {
  const startedAt = performance.now()
  const child = spawn(scripts[name], {
    cwd: root,
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH },
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
  const [code] = await once(child, 'close')
  const took = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
  if (code === 0) console.log(`${name} passed in ${took}`)
  else console.error(`${name} failed after ${took}:\n${printed.trimEnd()}`)
  return code === 0
}

const checks = Object.keys(scripts).filter((name) => name.startsWith('check:'))
const passed = await Promise.all(checks.map(run))
process.exitCode = passed.every(Boolean) ? 0 : 1
