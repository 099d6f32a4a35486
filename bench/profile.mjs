// `node bench/profile.mjs FILE.cpuprofile [ROWS]`: time of a profile by source file or package, by function alone, and
// by function with its callees. Reads the bundle for the source files of its lines.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const [file, rows = '25'] = process.argv.slice(2)
const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8'))
const byId = new Map(nodes.map((node) => [node.id, node]))
const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
const bundles = new Map()

/** Source file of every line of a bundle: esbuild writes its path in a comment above it. */
function sourcesOf(url) {
  if (bundles.has(url)) return bundles.get(url)
  // Of the built program, names are relative.
  const path = url.startsWith('file:') ? fileURLToPath(url) : join(root, url)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  let current = ''
  const sources = lines.map((line) => {
    current = /^\/\/ ((?:src|bench|node_modules)\/\S+)$/.exec(line)?.[1] ?? current
    return current
  })
  bundles.set(url, sources)
  return sources
}

function sourceOf({ functionName, url, lineNumber }) {
  if (functionName === '(garbage collector)') return 'garbage collector'
  if (url === '') return 'native and syscalls'
  if (url.startsWith('node:')) return 'node itself'
  return sourcesOf(url)[lineNumber] ?? url
}

function placeOf(source) {
  return /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? source
}

const add = (map, key, micros) => map.set(key, (map.get(key) ?? 0) + micros)
const byPlace = new Map()
const bySelf = new Map()
const byWhole = new Map()
let total = 0

for (const [index, id] of samples.entries()) {
  const { callFrame } = byId.get(id)
  if (callFrame.functionName === '(idle)') continue
  const micros = timeDeltas[index]
  total += micros
  add(byPlace, placeOf(sourceOf(callFrame)), micros)
  const named = ({ functionName, lineNumber }, source) =>
    `${functionName || '(anonymous)'}  ${source.replace(/^node_modules\//, '')}:${lineNumber + 1}`
  add(bySelf, named(callFrame, sourceOf(callFrame)), micros)
  const seen = new Set()
  for (let at = id; at !== undefined; at = parentOf.get(at)) {
    const frame = byId.get(at).callFrame
    const source = sourceOf(frame)
    if (!source.startsWith('src/')) continue
    seen.add(named(frame, source))
  }
  for (const name of seen) add(byWhole, name, micros)
}

function print(title, map) {
  process.stdout.write(`\n${title}\n`)
  const sorted = [...map].sort(([, a], [, b]) => b - a).slice(0, Number(rows))
  for (const [name, micros] of sorted)
    process.stdout.write(`${((100 * micros) / total).toFixed(1).padStart(6)} %  ${name}\n`)
}

process.stdout.write(`busy ${(total / 1000).toFixed(0)} ms\n`)
print('by file or package', byPlace)
print('by function, itself', bySelf)
print('by our function, with what it calls', byWhole)
