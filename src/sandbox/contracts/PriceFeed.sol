// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice Rounds as the code of a contract that is never called.
contract RoundArchive {
    constructor(bytes memory rounds) {
        assembly {
            return(add(rounds, 32), mload(rounds))
        }
    }
}

/// @notice Price feed with the read interface of a Chainlink aggregator behind its proxy, with every round that it ever had. Also
/// serves as the sequencer uptime feed, where answer 0 means up and startedAt is when that began.
///
/// A round's id is `phaseId << 64 | aggregatorRoundId`. Rounds of a phase count from 1; a new phase is what a proxy begins when it
/// is given another aggregator.
///
/// A local node copies all storage with each block, so that a slot for each round would slow a chain down within hours. The last
/// rounds are in storage that is used again and again, and whenever it is full it becomes the code of an archive, which is not copied.
contract PriceFeed {
    uint256 private constant CHUNK = 64;

    uint8 public immutable decimals;
    address public immutable operator;
    /// @notice Aggregators differ in what they say of a round that does not exist: some revert, and some answer zeros.
    bool public immutable answersZeros;
    string public description;
    uint256 public constant version = 1;

    uint16 public phaseId = 1;
    /// @dev Rounds of the current phase so far.
    uint64 private _count;
    /// @dev The rounds of the chunk that is not full, or has just become so; each as `_pack` has it.
    uint256[CHUNK] private _recent;
    /// @dev By `_chunkOf`. The code is a byte that stops whoever calls it, and the rounds.
    mapping(uint256 chunk => address) private _archives;

    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);

    error OnlyOperator();
    error OutOfRange();

    constructor(address operator_, string memory description_, uint8 decimals_, bool answersZeros_) {
        operator = operator_;
        description = description_;
        decimals = decimals_;
        answersZeros = answersZeros_;
    }

    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        require(_count != 0, "No data present");
        return _unpack((uint80(phaseId) << 64) | _count, _recent[(_count - 1) % CHUNK]);
    }

    /// @notice Any round of any phase.
    function getRoundData(uint80 id)
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        uint256 round = _find(uint16(id >> 64), uint64(id));
        require(answersZeros || round != 0, "No data present");
        return _unpack(id, round);
    }

    /// @notice The aggregator of a phase, which is this contract for every phase that there was.
    function phaseAggregators(uint16 phase) external view returns (address) {
        return phase == 0 || phase > phaseId ? address(0) : address(this);
    }

    /// @notice Starts a round with any times, so that tests can make a feed stale or a sequencer down.
    function set(int256 answer, uint256 startedAt, uint256 updatedAt) external {
        if (msg.sender != operator) revert OnlyOperator();
        uint64 count = _count;
        if (count != 0 && count % CHUNK == 0) _archive(count);
        _recent[count % CHUNK] = _pack(answer, startedAt, updatedAt);
        _count = count + 1;
        emit AnswerUpdated(answer, count + 1, updatedAt);
    }

    /// @notice Begins a phase, without a round of its own until the next `set`.
    function newPhase() external {
        if (msg.sender != operator) revert OnlyOperator();
        if (_count != 0) _archive(_count);
        phaseId += 1;
        _count = 0;
    }

    /// @dev 0 for a round that does not exist.
    function _find(uint16 phase, uint64 number) private view returns (uint256 round) {
        if (number == 0) return 0;
        uint256 place = (number - 1) % CHUNK;
        if (phase == phaseId && _count != 0 && (number - 1) / CHUNK == (_count - 1) / CHUNK)
            return number > _count ? 0 : _recent[place];
        bytes memory code = _archives[_chunkOf(phase, number)].code;
        if (code.length < 1 + 32 * (place + 1)) return 0;
        assembly {
            round := mload(add(add(code, 33), mul(32, place)))
        }
    }

    /// @dev The chunk whose last round is that of this number.
    function _archive(uint64 number) private {
        uint256[] memory rounds = new uint256[]((number - 1) % CHUNK + 1);
        for (uint256 i = 0; i < rounds.length; i++) rounds[i] = _recent[i];
        _archives[_chunkOf(phaseId, number)] = address(new RoundArchive(abi.encodePacked(bytes1(0), rounds)));
    }

    function _chunkOf(uint16 phase, uint64 number) private pure returns (uint256) {
        return (uint256(phase) << 64) | ((number - 1) / CHUNK);
    }

    /// @dev The answer in 176 bits, and 40 for each time.
    function _pack(int256 answer, uint256 startedAt, uint256 updatedAt) private pure returns (uint256) {
        if (answer != int176(answer) || startedAt >> 40 != 0 || updatedAt >> 40 != 0) revert OutOfRange();
        return (updatedAt << 216) | (startedAt << 176) | uint176(int176(answer));
    }

    function _unpack(uint80 id, uint256 round) private pure returns (uint80, int256, uint256, uint256, uint80) {
        return (id, int176(uint176(round)), (round >> 176) & type(uint40).max, round >> 216, id);
    }
}

/// @notice Operator of every feed: one transaction moves them all.
contract FeedBoard {
    address public immutable operator;

    error OnlyOperator();

    constructor(address operator_) {
        operator = operator_;
    }

    /// @notice New answers stamped with the block's time.
    function push(PriceFeed[] calldata feeds, int256[] calldata answers) external {
        if (msg.sender != operator) revert OnlyOperator();
        for (uint256 i = 0; i < feeds.length; i++) {
            feeds[i].set(answers[i], block.timestamp, block.timestamp);
        }
    }

    /// @notice One round of one feed with given times.
    function set(PriceFeed feed, int256 answer, uint256 startedAt, uint256 updatedAt) external {
        if (msg.sender != operator) revert OnlyOperator();
        feed.set(answer, startedAt, updatedAt);
    }

    /// @notice A new phase of one feed.
    function newPhase(PriceFeed feed) external {
        if (msg.sender != operator) revert OnlyOperator();
        feed.newPhase();
    }
}
