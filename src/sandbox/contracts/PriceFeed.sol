// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice Stores rounds as the code of a contract that is never called.
contract RoundArchive {
    constructor(bytes memory rounds) {
        assembly {
            return(add(rounds, 32), mload(rounds))
        }
    }
}

/// @notice Price feed with the read interface of a Chainlink aggregator behind its proxy. Keeps every round. Also serves as
/// the sequencer uptime feed, where answer 0 means up, and startedAt is the start of that status.
///
/// A round's id is `phaseId << 64 | aggregatorRoundId`. Rounds of a phase count from 1. A real proxy starts a new phase when
/// it gets another aggregator.
///
/// A local node copies all storage with each block, so one slot per round would slow the chain down within hours. Storage
/// holds only the latest rounds and is reused. When it is full, its rounds become the code of an archive, which is not
/// copied.
contract PriceFeed {
    uint256 private constant CHUNK = 64;

    uint8 public immutable decimals;
    address public immutable operator;
    /// @notice Aggregators differ for a round that does not exist: some revert, and some answer zeros.
    bool public immutable answersZeros;
    string public description;
    uint256 public constant version = 1;

    uint16 public phaseId = 1;
    /// @dev Number of rounds in the current phase.
    uint64 private _count;
    /// @dev Rounds of the current chunk, which may be full. Each in the format of `_pack`.
    uint256[CHUNK] private _recent;
    /// @dev Archives by `_chunkOf`. The code is one byte that stops any call, and then the rounds.
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

    /// @notice The aggregator of a phase, which is this contract for every existing phase.
    function phaseAggregators(uint16 phase) external view returns (address) {
        return phase == 0 || phase > phaseId ? address(0) : address(this);
    }

    /// @notice Adds a round with any times, so that tests can make a feed stale or a sequencer down.
    function set(int256 answer, uint256 startedAt, uint256 updatedAt) external {
        if (msg.sender != operator) revert OnlyOperator();
        uint64 count = _count;
        if (count != 0 && count % CHUNK == 0) _archive(count);
        _recent[count % CHUNK] = _pack(answer, startedAt, updatedAt);
        _count = count + 1;
        emit AnswerUpdated(answer, count + 1, updatedAt);
    }

    /// @notice Starts a phase. The phase has no round until the next `set`.
    function newPhase() external {
        if (msg.sender != operator) revert OnlyOperator();
        if (_count != 0) _archive(_count);
        phaseId += 1;
        _count = 0;
    }

    /// @dev Returns 0 for a round that does not exist.
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

    /// @dev Archives the chunk whose last round has this number.
    function _archive(uint64 number) private {
        uint256[] memory rounds = new uint256[]((number - 1) % CHUNK + 1);
        for (uint256 i = 0; i < rounds.length; i++) rounds[i] = _recent[i];
        _archives[_chunkOf(phaseId, number)] = address(new RoundArchive(abi.encodePacked(bytes1(0), rounds)));
    }

    function _chunkOf(uint16 phase, uint64 number) private pure returns (uint256) {
        return (uint256(phase) << 64) | ((number - 1) / CHUNK);
    }

    /// @dev Packs the answer into 176 bits, and each time into 40.
    function _pack(int256 answer, uint256 startedAt, uint256 updatedAt) private pure returns (uint256) {
        if (answer != int176(answer) || startedAt >> 40 != 0 || updatedAt >> 40 != 0) revert OutOfRange();
        return (updatedAt << 216) | (startedAt << 176) | uint176(int176(answer));
    }

    function _unpack(uint80 id, uint256 round) private pure returns (uint80, int256, uint256, uint256, uint80) {
        return (id, int176(uint176(round)), (round >> 176) & type(uint40).max, round >> 216, id);
    }
}

/// @notice Operator of every feed, so that one transaction can update all feeds.
contract FeedBoard {
    address public immutable operator;

    error OnlyOperator();

    constructor(address operator_) {
        operator = operator_;
    }

    /// @notice Adds a round to each feed, with the block's time.
    function push(PriceFeed[] calldata feeds, int256[] calldata answers) external {
        if (msg.sender != operator) revert OnlyOperator();
        for (uint256 i = 0; i < feeds.length; i++) {
            feeds[i].set(answers[i], block.timestamp, block.timestamp);
        }
    }

    /// @notice Adds one round to one feed, with the given times.
    function set(PriceFeed feed, int256 answer, uint256 startedAt, uint256 updatedAt) external {
        if (msg.sender != operator) revert OnlyOperator();
        feed.set(answer, startedAt, updatedAt);
    }

    /// @notice Starts a new phase of one feed.
    function newPhase(PriceFeed feed) external {
        if (msg.sender != operator) revert OnlyOperator();
        feed.newPhase();
    }
}
