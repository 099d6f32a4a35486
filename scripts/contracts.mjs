// Compiles src/sandbox/contracts/*.sol into src/sandbox/artifacts/*.json, and extracts the real Permit2.
// `node scripts/contracts.mjs` writes; with `--check` it compares instead and exits 1 on any difference.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import solc from 'solc'

const root = fileURLToPath(new URL('..', import.meta.url))
const contractsDir = join(root, 'src/sandbox/contracts')
const artifactsDir = join(root, 'src/sandbox/artifacts')
const permit2Source = join(
  root,
  'node_modules/@uniswap/v4-periphery/lib/permit2/test/utils/DeployPermit2.sol',
)

const settings = {
  evmVersion: 'prague',
  optimizer: { enabled: true, runs: 10_000 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
}

function sources() {
  const names = readdirSync(contractsDir).filter((name) => name.endsWith('.sol')).sort()
  if (names.length === 0) throw new Error(`no contracts in ${contractsDir}`)
  return Object.fromEntries(
    names.map((name) => [name, { content: readFileSync(join(contractsDir, name), 'utf8') }]),
  )
}

function compile() {
  const input = { language: 'Solidity', sources: sources(), settings }
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  const problems = (output.errors ?? []).map((problem) => problem.formattedMessage)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const settingsHash = createHash('sha256')
    .update(JSON.stringify({ version: solc.version(), settings }))
    .digest('hex')
  const artifacts = new Map()
  for (const [file, contracts] of Object.entries(output.contracts)) {
    for (const [name, { abi, evm }] of Object.entries(contracts)) {
      if (evm.bytecode.object === '') continue
      const fileName = `${kebab(name)}.json`
      if (artifacts.has(fileName)) throw new Error(`two contracts are named ${name}`)
      artifacts.set(fileName, {
        contract: `${file}:${name}`,
        compiler: solc.version(),
        settingsHash,
        abi,
        bytecode: `0x${evm.bytecode.object}`,
        deployedBytecode: `0x${evm.deployedBytecode.object}`,
      })
    }
  }
  return artifacts
}

function kebab(name) {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
}

/**
 * Permit2's runtime code with the positions of its two immutables. The published code caches the chain that it was
 * built on (31337) and that chain's domain separator; etching it requires writing both anew.
 */
function permit2() {
  const match = /hex"([0-9a-f]+)"/.exec(readFileSync(permit2Source, 'utf8'))
  if (match === null) throw new Error(`no Permit2 code in ${permit2Source}`)
  const [, hex] = match
  const cachedChainId = (31337).toString(16).padStart(64, '0')
  const chainIdAt = onlyIndexOf(hex, `7f${cachedChainId}`) + 2
  // The compiler put the cached separator right behind the jump that compares the chain ids.
  const separator = /^03[0-9a-f]{6}577f([0-9a-f]{64})/.exec(hex.slice(chainIdAt + 64))
  if (separator === null) throw new Error('the cached domain separator is not where it was')
  const separatorAt = onlyIndexOf(hex, separator[1])
  return {
    contract: 'Permit2',
    source: '@uniswap/v4-periphery lib/permit2/test/utils/DeployPermit2.sol',
    immutables: { chainIdByte: chainIdAt / 2, domainSeparatorByte: separatorAt / 2 },
    deployedBytecode: `0x${hex}`,
  }
}

function onlyIndexOf(text, part) {
  const index = text.indexOf(part)
  if (index < 0 || index % 2 !== 0 || text.indexOf(part, index + 1) >= 0) {
    throw new Error(`expected ${part.slice(0, 16)}... exactly once in the Permit2 code`)
  }
  return index
}

const artifacts = compile().set('permit2.json', permit2())
const check = process.argv.includes('--check')
if (!check) mkdirSync(artifactsDir, { recursive: true })
const wrong = []
for (const [name, artifact] of artifacts) {
  const path = join(artifactsDir, name)
  const text = `${JSON.stringify(artifact, null, 2)}\n`
  if (!check) writeFileSync(path, text)
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) wrong.push(name)
}
for (const name of readdirSync(artifactsDir)) {
  if (!artifacts.has(name)) wrong.push(`${name} (no such contract)`)
}
if (wrong.length > 0) {
  process.stderr.write(`artifacts differ from the contracts: ${wrong.join(', ')}\n`)
  process.stderr.write('run `node scripts/contracts.mjs` and commit the result\n')
  process.exitCode = 1
}
