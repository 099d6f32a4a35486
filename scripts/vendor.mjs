// `node scripts/vendor.mjs OUT NAME...`: copies packages that the bundle leaves outside, with all their dependencies,
// from node_modules to OUT, as listed in package-lock.json. An image needs nothing else of node_modules. No packages:
// it reads the files that npm installed.
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MODULES = 'node_modules/'
const root = fileURLToPath(new URL('..', import.meta.url))
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const [out, ...names] = process.argv.slice(2)
if (out === undefined || names.length === 0) fail('usage: node scripts/vendor.mjs OUT NAME...')

const taken = new Set()
const waiting = names.map((name) => ({ name, from: '' }))
for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
  const place = placeOf(next)
  if (taken.has(place)) continue
  taken.add(place)
  for (const name of Object.keys(packages[place].dependencies ?? {})) waiting.push({ name, from: place })
}
for (const place of taken) {
  if (!existsSync(join(root, place)))
    fail(`${place} is not installed: run npm ci, on a system that it is made for (the local chain: Linux x64, in Docker --platform linux/amd64)`)
  cpSync(join(root, place), join(out, place.slice(MODULES.length)), { recursive: true })
}

/** Where Node resolves a package from another: beside it, or in a node_modules further up. */
function placeOf({ name, from }) {
  for (let above = from; ; above = above.slice(0, Math.max(0, above.lastIndexOf(`/${MODULES}`)))) {
    const place = above === '' ? `${MODULES}${name}` : `${above}/${MODULES}${name}`
    if (packages[place] !== undefined) return place
    if (above === '') fail(`package-lock.json has no ${name}`)
  }
}

function fail(text) {
  console.error(`vendor: ${text}`)
  process.exit(1)
}
