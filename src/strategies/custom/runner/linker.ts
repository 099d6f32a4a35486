import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  compileFunction,
  type Module,
  SourceTextModule,
  type SourceTextModuleOptions,
  SyntheticModule,
} from 'node:vm'

import { textOf } from './interface.ts'
import { firstLine, importPlaceOf, placeOf } from './place.ts'

/** Packages that are handed in, by name. */
export type Given = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const CJS_ARGUMENTS = ['exports', 'require', 'module', '__filename', '__dirname']
/** Names that `require` is given as plain text. A match in a comment costs no more than the reading of a file. */
const REQUIRED = /\brequire\s*\(\s*(['"`])([^'"`$\r\n]{1,500})\1\s*\)/g
/** What may be loaded late is read ahead up to this much; beyond it a module has to load what it needs at its start. */
const AHEAD_FILES_MAX = 2_000
const AHEAD_CHARACTERS_MAX = 32 * 1_048_576

/**
 * Loads an ES module with all that it imports: files of its own folder, packages of `node_modules` from there upwards,
 * JSON, and what is given. All that it may load later is read at its start too, and belongs to its version; afterwards no file
 * is read. Node's own loader is not used, for under the permission model of Node 20 it cannot be
 * told what a module may import, and it would hand out the parts of Node that reach the network.
 */
export class Linker {
  readonly #given: Given
  readonly #modules = new Map<string, Promise<Module>>()
  readonly #required = new Map<string, { exports: unknown }>()
  readonly #digest = createHash('sha256')
  /** Of every file that was read: no file is read twice. */
  readonly #texts = new Map<string, string>()
  #isClosed = false

  constructor(given: Given) {
    this.#given = given
  }

  /** Tells all that was read so far from any other text of it. */
  get version(): string {
    return this.#digest.copy().digest('hex')
  }

  /** Loads and runs a file; from then on it reads none. */
  async load(file: string): Promise<Readonly<Record<string, unknown>>> {
    const module = await this.#module(pathToFileURL(file).href)
    const exports = await this.#run(module)
    this.#readAhead()
    this.#isClosed = true
    return exports
  }

  /**
   * Reads, and does not run, what the files read so far may require in `decide`, and what those may. Nothing asynchronous goes on
   * once a module is loaded, so that no late `import()` comes to anything.
   */
  #readAhead(): void {
    let characters = 0
    // Grows while it is walked.
    for (const [file, text] of this.#texts) {
      characters += text.length
      if (this.#texts.size > AHEAD_FILES_MAX || characters > AHEAD_CHARACTERS_MAX) return
      if (extname(file) === '.json') continue
      for (const [, , specifier = ''] of text.matchAll(REQUIRED)) this.#tryToRead(specifier, file)
    }
  }

  /** What is not there, or out of reach, fails when it is loaded. */
  #tryToRead(specifier: string, from: string): void {
    if (Object.hasOwn(this.#given, specifier) || isBuiltin(specifier)) return
    try {
      this.#read(createRequire(from).resolve(specifier))
    } catch {
      // See above.
    }
  }

  async #run(module: Module): Promise<Readonly<Record<string, unknown>>> {
    if (module.status === 'unlinked') await module.link(this.#link)
    await module.evaluate()
    return module.namespace as Readonly<Record<string, unknown>>
  }

  readonly #link = async (
    specifier: string,
    { identifier }: { readonly identifier: string },
  ): Promise<Module> => {
    try {
      return await this.#module(this.#resolve(specifier, identifier))
    } catch (error) {
      // Of a text that is no JavaScript Node says the place itself.
      if (error instanceof SyntaxError || placeOf(error) !== '') throw error
      const text = this.#texts.get(fileURLToPath(identifier)) ?? ''
      const place = importPlaceOf(specifier, identifier, text)
      throw new Error(`${firstLine(textOf(error))}${place}`)
    }
  }

  /** What a specifier means in the module at an address: the address of a file, or the name of what is given. */
  #resolve(specifier: string, from: string): string {
    if (Object.hasOwn(this.#given, specifier)) return specifier
    refuseBuiltin(specifier)
    return import.meta.resolve(specifier, from)
  }

  #module(address: string): Promise<Module> {
    const known = this.#modules.get(address)
    if (known !== undefined) return known
    const made = this.#make(address)
    this.#modules.set(address, made)
    return made
  }

  async #make(address: string): Promise<Module> {
    const given = this.#given[address]
    if (given !== undefined) return synthetic(address, given)
    const file = fileURLToPath(address)
    switch (extname(file)) {
      case '.mjs':
        return this.#source(address, this.#read(file))
      case '.js':
        return this.#either(address, file)
      case '.cjs':
      case '.json':
        return this.#common(address, this.#require(file))
      default:
        throw new Error(`${file}: a module may import .mjs, .js, .cjs and .json`)
    }
  }

  /** Of a `.js` the text itself says which of the two it is: only ES modules have `import` and `export`. */
  #either(address: string, file: string): Module {
    try {
      return this.#common(address, this.#require(file))
    } catch (error) {
      if (!(error instanceof SyntaxError) || this.#required.has(file)) throw error
      return this.#source(address, this.#read(file))
    }
  }

  #source(identifier: string, text: string): Module {
    const options: SourceTextModuleOptions = {
      identifier,
      initializeImportMeta(meta) {
        const filename = fileURLToPath(identifier)
        Object.assign(meta, { url: identifier, filename })
      },
      importModuleDynamically: async (specifier) => {
        const module = await this.#link(specifier, { identifier })
        await this.#run(module)
        return module
      },
    }
    return new SourceTextModule(text, options)
  }

  /** What was required, as an ES module: whole as its default export, its fields by name. */
  #common(address: string, exports: unknown): Module {
    const fields = exports instanceof Object ? exports : {}
    return synthetic(address, { ...fields, default: exports })
  }

  #require(file: string): unknown {
    const known = this.#required.get(file)
    if (known !== undefined) return known.exports
    const text = this.#read(file)
    if (extname(file) === '.json') return JSON.parse(text)
    const run = compileFunction(text, CJS_ARGUMENTS, { filename: file }) as (
      ...given: unknown[]
    ) => void
    const module = { exports: {} }
    this.#required.set(file, module)
    const { resolve } = createRequire(file)
    const require = (specifier: string): unknown => {
      const given = this.#given[specifier]
      if (given !== undefined) return given
      refuseBuiltin(specifier)
      return this.#require(resolve(specifier))
    }
    run.call(
      module.exports,
      module.exports,
      require,
      module,
      file,
      file.replace(/[/\\][^/\\]*$/, ''),
    )
    return module.exports
  }

  #read(file: string): string {
    const known = this.#texts.get(file)
    if (known !== undefined) return known
    if (this.#isClosed)
      throw new Error(
        `it loads ${file} late, which was not read at its start: require it at the top of a file, or by its plain name`,
      )
    const text = readFile(file)
    this.#texts.set(file, text)
    this.#digest.update(`${file}\0${text}\0`)
    return text
  }
}

/** The permission model judges the place that a link leads to, not the link. */
function readFile(file: string): string {
  try {
    return readFileSync(realpathSync(file), 'utf8')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_ACCESS_DENIED'))
      throw error
    throw new Error(`${file} is out of its reach: its folder, and node_modules above it`)
  }
}

function refuseBuiltin(specifier: string): void {
  if (isBuiltin(specifier))
    throw new Error(`it imports ${specifier}, and nothing of Node is there for a module`)
}

function synthetic(identifier: string, exports: Readonly<Record<string, unknown>>): Module {
  const names = Object.keys(exports)
  return new SyntheticModule(
    names,
    function give(this: SyntheticModule) {
      for (const name of names) this.setExport(name, exports[name])
    },
    { identifier },
  )
}
