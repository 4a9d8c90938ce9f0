/*
 * streams: opens many answers that do not end, announces something now and then, and reports what arrived on them.
 *
 *     streams --to 127.0.0.1:8000 --path /api/v1/watch --body FILE --streams 2000 \
 *             --announce-to 127.0.0.1:8000 --announce-path /api/v1/notification --announce-body FILE
 *
 * One thread, one epoll loop. In the body of a stream's request every `{n}` becomes the number of the stream, in that of
 * an announcement the number of the announcement; `{n:3}` the last three digits of it. An announcement has the text
 * `mark{n}` in it, and whatever carries that text to a stream (a frame, a line, a column) is a delivery. The numbers on
 * a stream must go up by `--stride` each time: more is a hole, less a repetition. A latency is the time from the moment
 * at which the announcement was due, so one that had to wait for the service is as late as it was.
 *
 * Announcements go over one connection, the next when the last was answered; over `--announcers` more, where it does
 * not matter in which order two of them arrive.
 *
 * First all streams are opened, `--window` at a time, which is reported. Then it does what standard input says, and
 * writes a line of JSON about each; between two commands it goes on reading.
 *
 *     announce RATE WARM-UP SECONDS EACH
 *                     announcements a second, each to be delivered so often. Reported when all were, or ten seconds
 *                     after the last, or when no stream is left; and before that there is a line when the warm-up is
 *                     over and measuring begins
 *     hold SECONDS    only read
 *     finish SECONDS  wait until every stream has ended, so long at most
 *     stall COUNT     read no more from the first streams; nothing is reported
 *     resume          read from them again; the next report has the bytes that were held for them
 *
 * `stall` and `resume` are done at once, also while something else goes on. What a stream that was stalled gets is left
 * out of deliveries and latencies.
 *
 * It speaks to 127.0.0.0/8 and to nothing else: pointed at somebody's service it would be an attack. Its own side of
 * the connections has several addresses there, because one has too few ports.
 */
#define _GNU_SOURCE /* memmem, asprintf, epoll_pwait2 */

#include <inttypes.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "connection.h"
#include "histogram.h"
#include "stream.h"
#include "watching.h"

enum {
    BUFFER_BYTES = 256 * 1024,
    LARGEST_REQUEST_BYTES = 64 * 1024,
    ADDRESSES = 64,
    SPARE_DESCRIPTORS = 64,
    LARGEST_COMMAND_BYTES = 256,
};

/* How long what was announced may take to arrive. */
static const uint64_t PATIENCE_NANOSECONDS = 10 * 1000000000ull;

/* What happened since the last report. */
struct tally {
    struct histogram latencies;
    uint64_t since;
    uint64_t last_at; /* when the last delivery came */
    uint64_t deliveries;
    uint64_t expected;
    uint64_t bytes;
    uint64_t heartbeats;
    uint64_t holes;
    uint64_t repeated;
    uint64_t ended;
    uint64_t lost;
    uint64_t resumed;
    uint64_t most_held;
};

struct run {
    struct watching options;
    struct sockaddr_in address;
    struct request request;
    int poll;
    struct stream *streams;
    int next; /* stream to be opened */
    int being_opened;
    int opened;
    int over;
    int refused;

    struct service announced_to;
    struct connection *announcers;
    uint64_t *due_at; /* of each announcement */
    uint64_t announced;
    uint64_t room;
    uint64_t measured_from; /* the first announcement that counts */
    int unanswered;

    struct tally tally;
    char command[LARGEST_COMMAND_BYTES]; /* that waits to be done; empty: none */
    bool is_told_to_end;
    char piece[BUFFER_BYTES];
    char body[MARK_BYTES + BUFFER_BYTES];
};

/* --- streams --------------------------------------------------------------------------------------------- */

static void attend(struct run *run, struct stream *stream, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = stream};
    if (epoll_ctl(run->poll, operation, stream->socket, &event) != 0)
        fail("epoll_ctl: %s", strerror(errno));
}

static void open_stream(struct run *run, struct stream *stream)
{
    int one = 1;
    struct sockaddr_in own = {.sin_family = AF_INET};
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(stream - run->streams) % ADDRESSES);
    stream->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (stream->socket < 0)
        fail("socket: %s", strerror(errno));
    setsockopt(stream->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(stream->socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (run->options.receive_buffer_bytes > 0)
        setsockopt(stream->socket, SOL_SOCKET, SO_RCVBUF, &run->options.receive_buffer_bytes,
                   sizeof run->options.receive_buffer_bytes);
    if (bind(stream->socket, (struct sockaddr *)&own, sizeof own) != 0)
        fail("bind: %s", strerror(errno));
    /* A failure to connect is met again by the first send. */
    (void)connect(stream->socket, (struct sockaddr *)&run->address, sizeof run->address);
    stream->phase = CONNECTING;
    stream->last_number = -1;
    stream->began = now();
    run->being_opened++;
    attend(run, stream, EPOLL_CTL_ADD, EPOLLOUT);
}

static void end_stream(struct run *run, struct stream *stream, enum phase before)
{
    close(stream->socket);
    run->over++;
    if (before == CONNECTING || before == ASKED)
        run->being_opened--;
    if (stream->phase == REFUSED && run->refused++ == 0)
        fprintf(stderr, "streams: first refusal: %d\n", stream->status);
    if (stream->phase == LOST && run->tally.lost++ == 0)
        fprintf(stderr, "streams: first loss: stream %td\n", stream - run->streams);
    run->tally.ended += stream->phase == ENDED;
    if (!stream->is_apart)
        return;
    run->tally.resumed++;
    if (stream->resumed_for > run->tally.most_held)
        run->tally.most_held = stream->resumed_for;
}

/* A request is small enough for the buffer of a new connection. */
static void ask(struct run *run, struct stream *stream)
{
    static char bytes[LARGEST_REQUEST_BYTES];
    const struct request *request = &run->request;
    memcpy(bytes, request->bytes, request->length);
    for (size_t slot = 0; slot < request->slot_count; slot++)
        write_number(bytes + request->slots[slot].at, request->slots[slot].digits,
                     (uint64_t)(stream - run->streams));
    if (send(stream->socket, bytes, request->length, MSG_NOSIGNAL) != (ssize_t)request->length) {
        stream->phase = LOST;
        end_stream(run, stream, CONNECTING);
        return;
    }
    stream->phase = ASKED;
    attend(run, stream, EPOLL_CTL_MOD, EPOLLIN);
}

static void count_delivery(struct run *run, struct stream *stream, int64_t number, uint64_t instant)
{
    int64_t step = stream->last_number < 0 ? run->options.stride : number - stream->last_number;
    if (step <= 0)
        run->tally.repeated++;
    else
        run->tally.holes += (uint64_t)((step - 1) / run->options.stride);
    if (step > 0)
        stream->last_number = number;
    if (stream->is_apart || (uint64_t)number < run->measured_from)
        return;
    run->tally.deliveries++;
    run->tally.last_at = instant;
    if ((uint64_t)number < run->announced)
        record(&run->tally.latencies, (instant - run->due_at[number]) / 1000);
}

/* Look through what came of the body, with the end of what came before. */
static void read_body(struct run *run, struct stream *stream, size_t length, uint64_t instant)
{
    char *end = run->body + MARK_BYTES + length;
    char *begin = run->body + MARK_BYTES - stream->tail_length;
    memcpy(begin, stream->tail, stream->tail_length);
    for (char *at = begin; (at = memmem(at, (size_t)(end - at), MARK, sizeof MARK - 1)) != NULL;) {
        if (end - at < MARK_BYTES)
            break;
        int64_t number = number_of(at);
        if (number >= 0)
            count_delivery(run, stream, number, instant);
        at += number >= 0 ? MARK_BYTES : sizeof MARK - 1;
    }
    for (char *at = begin; (at = memmem(at, (size_t)(end - at), HEARTBEAT, MARK_BYTES)) != NULL; at += MARK_BYTES)
        run->tally.heartbeats++;
    run->tally.bytes += length;
    size_t there = (size_t)(end - begin);
    stream->tail_length = there < MARK_BYTES - 1 ? there : MARK_BYTES - 1;
    memmove(stream->tail, end - stream->tail_length, stream->tail_length);
}

static void read_stream(struct run *run, struct stream *stream)
{
    enum phase before = stream->phase;
    ssize_t received = recv(stream->socket, run->piece, BUFFER_BYTES, 0);
    uint64_t instant = now();
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received <= 0) {
        stream->phase = LOST;
    } else {
        if (stream->is_apart)
            stream->resumed_for += (uint64_t)received;
        size_t length = decode(stream, run->piece, (size_t)received, run->body + MARK_BYTES);
        if (length > 0)
            read_body(run, stream, length, instant);
    }
    if (before == ASKED && (stream->phase == OPEN || stream->phase == ENDED)) {
        run->opened++;
        if (stream->phase == OPEN)
            run->being_opened--;
        if (!run->announced)
            record(&run->tally.latencies, (instant - stream->began) / 1000);
        run->tally.last_at = instant;
    }
    if (is_over(stream))
        end_stream(run, stream, before);
}

static void stall(struct run *run, int count)
{
    for (int place = 0; place < count && place < run->options.streams; place++) {
        struct stream *stream = &run->streams[place];
        if (stream->phase != OPEN || stream->is_stalled)
            continue;
        stream->is_stalled = stream->is_apart = true;
        attend(run, stream, EPOLL_CTL_DEL, 0);
    }
}

static void resume(struct run *run)
{
    for (int place = 0; place < run->options.streams; place++) {
        struct stream *stream = &run->streams[place];
        if (!stream->is_stalled)
            continue;
        int arrived = 0;
        if (ioctl(stream->socket, FIONREAD, &arrived) != 0)
            fail("ioctl: %s", strerror(errno));
        stream->is_stalled = false;
        /* What had arrived here was held by nobody else; it is read first, and so is taken off. */
        stream->resumed_for = (uint64_t)0 - (uint64_t)arrived;
        attend(run, stream, EPOLL_CTL_ADD, EPOLLIN);
    }
}

/* --- announcements ---------------------------------------------------------------------------------------- */

static bool is_announcer(const struct run *run, const void *pointer)
{
    const struct connection *connection = pointer;
    return connection >= run->announcers && connection < run->announcers + run->options.announcers;
}

static void announce(struct run *run, struct connection *connection, uint64_t due_at)
{
    if (run->announced == run->room) {
        run->room = run->room > 0 ? 2 * run->room : 1024;
        run->due_at = checked(realloc(run->due_at, run->room * sizeof *run->due_at));
    }
    connection->first_number = run->announced;
    run->due_at[run->announced++] = due_at;
    run->unanswered++;
    send_request(connection);
}

static struct connection *idle_announcer(struct run *run)
{
    for (int place = 0; place < run->options.announcers; place++)
        if (run->announcers[place].state == FINISHED)
            return &run->announcers[place];
    return NULL;
}

static void go_on_announcing(struct run *run, struct connection *connection, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        if (connection->state == FINISHED) {
            /* Nothing was asked for some time, and the service has ended the connection. */
            close_socket(connection);
            return;
        }
        ssize_t received = receive(connection);
        if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR))
            fail("an announcement was not answered");
        const char *fault = connection->body_at > 0 ? NULL : read_head(connection);
        if (fault != NULL)
            fail("an announcement was answered with %s", fault);
        if (connection->body_at > 0 && connection->answer_length >= connection->whole_length) {
            if (connection->status != 200)
                fail("an announcement was answered with %d: %.*s", connection->status,
                     (int)(connection->whole_length - connection->body_at), connection->answer + connection->body_at);
            connection->state = FINISHED;
            run->unanswered--;
        }
    }
    if ((events & EPOLLOUT) && connection->state == POSTING)
        send_on(connection);
}

/* --- the loop --------------------------------------------------------------------------------------------- */

static void obey(struct run *run, const char *line)
{
    int count;
    if (sscanf(line, "stall %d", &count) == 1)
        stall(run, count);
    else if (strcmp(line, "resume") == 0)
        resume(run);
    else if (run->command[0] != '\0')
        fail("told '%s' before '%s' was done", line, run->command);
    else
        strcpy(run->command, line);
}

/* Commands are lines, and come in one piece each. */
static void read_commands(struct run *run)
{
    char lines[LARGEST_COMMAND_BYTES];
    ssize_t length = read(STDIN_FILENO, lines, sizeof lines - 1);
    if (length <= 0) {
        run->is_told_to_end = true;
        return;
    }
    lines[length] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        obey(run, line);
}

/* Do what is there to be done; wait for it until an instant at most. */
static void attend_all(struct run *run, uint64_t until)
{
    struct epoll_event events[512];
    uint64_t instant = now();
    uint64_t wait = until > instant ? until - instant : 0;
    struct timespec timeout = {(time_t)(wait / NANOSECONDS), (long)(wait % NANOSECONDS)};
    int ready = epoll_pwait2(run->poll, events, 512, &timeout, NULL);
    if (ready < 0 && errno != EINTR)
        fail("epoll_pwait2: %s", strerror(errno));
    for (int place = 0; place < ready; place++) {
        void *pointer = events[place].data.ptr;
        if (pointer == NULL) {
            read_commands(run);
        } else if (is_announcer(run, pointer)) {
            go_on_announcing(run, pointer, events[place].events);
        } else {
            struct stream *stream = pointer;
            if (stream->phase == CONNECTING)
                ask(run, stream);
            else if (!stream->is_stalled && !is_over(stream))
                read_stream(run, stream);
        }
    }
}

static void begin_tally(struct run *run, uint64_t measured_from)
{
    memset(&run->tally, 0, sizeof run->tally);
    run->tally.since = run->tally.last_at = now();
    run->measured_from = measured_from;
}

static void report(struct run *run)
{
    const struct tally *tally = &run->tally;
    double seconds = (double)(now() - tally->since) / (double)NANOSECONDS;
    double active = (double)(tally->last_at - tally->since) / (double)NANOSECONDS;
    printf("{\"opened\":%d,\"refused\":%d,\"deliveries\":%" PRIu64 ",\"expected\":%" PRIu64 ",\"bytes\":%" PRIu64,
           run->opened, run->refused, tally->deliveries, tally->expected, tally->bytes);
    printf(",\"heartbeats\":%" PRIu64 ",\"holes\":%" PRIu64 ",\"repeated\":%" PRIu64 ",\"ended\":%" PRIu64
           ",\"lost\":%" PRIu64,
           tally->heartbeats, tally->holes, tally->repeated, tally->ended, tally->lost);
    printf(",\"resumed\":%" PRIu64 ",\"most_held\":%" PRIu64 ",\"seconds\":%.6f,\"active_seconds\":%.6f", tally->resumed,
           tally->most_held, seconds, active);
    printf(",\"latency_ms\":{\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}}\n",
           milliseconds_at(&tally->latencies, 0.5), milliseconds_at(&tally->latencies, 0.9),
           milliseconds_at(&tally->latencies, 0.99), (double)tally->latencies.largest / 1e3);
    fflush(stdout);
    begin_tally(run, run->measured_from);
}

static void open_all(struct run *run)
{
    begin_tally(run, 0);
    while (run->next < run->options.streams || run->being_opened > 0) {
        if (run->next < run->options.streams && run->being_opened < run->options.window)
            open_stream(run, &run->streams[run->next++]);
        else
            attend_all(run, now() + PATIENCE_NANOSECONDS);
    }
}

static bool may_arrive(const struct run *run)
{
    return run->tally.deliveries < run->tally.expected && run->over < run->options.streams;
}

static void do_announce(struct run *run, double rate, double warm_up, double seconds, uint64_t each)
{
    uint64_t first = run->announced;
    uint64_t not_measured = (uint64_t)(rate * warm_up);
    uint64_t count = not_measured + (uint64_t)(rate * seconds);
    uint64_t began = now();
    begin_tally(run, first + not_measured);
    for (uint64_t done = 0; done < count;) {
        uint64_t due_at = began + (uint64_t)((double)done * 1e9 / rate);
        if (now() < due_at) {
            attend_all(run, due_at);
            continue;
        }
        struct connection *connection = idle_announcer(run);
        if (connection == NULL) {
            attend_all(run, now() + NANOSECONDS);
            continue;
        }
        if (done == not_measured) {
            puts("{\"measuring\":true}");
            fflush(stdout);
            begin_tally(run, first + not_measured);
        }
        announce(run, connection, due_at);
        done++;
    }
    run->tally.expected = (count - not_measured) * each;
    uint64_t limit = now() + PATIENCE_NANOSECONDS;
    while ((run->unanswered > 0 || may_arrive(run)) && now() < limit)
        attend_all(run, limit);
    report(run);
}

static void do_command(struct run *run)
{
    double rate, warm_up, seconds;
    uint64_t each;
    if (sscanf(run->command, "announce %lf %lf %lf %" SCNu64, &rate, &warm_up, &seconds, &each) == 4) {
        if (run->options.announce_to == NULL || !(rate > 0))
            fail("nothing can be announced so: '%s'", run->command);
        run->command[0] = '\0';
        do_announce(run, rate, warm_up, seconds, each);
        return;
    }
    bool finishes = sscanf(run->command, "finish %lf", &seconds) == 1;
    if (!finishes && sscanf(run->command, "hold %lf", &seconds) != 1)
        fail("told '%s'", run->command);
    run->command[0] = '\0';
    uint64_t limit = now() + (uint64_t)(seconds * 1e9);
    while (now() < limit && !(finishes && run->over == run->options.streams))
        attend_all(run, limit);
    report(run);
}

/* --- beginning -------------------------------------------------------------------------------------------- */

static void allow_descriptors(int streams, int announcers)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        fail("getrlimit: %s", strerror(errno));
    rlim_t needed = (rlim_t)(streams + announcers + SPARE_DESCRIPTORS);
    if (limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_max < needed || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        fail("%d streams need as many open files, and %ju are allowed (ulimit -Hn)", streams,
             (uintmax_t)limit.rlim_max);
}

static void begin(struct run *run)
{
    const struct watching *options = &run->options;
    allow_descriptors(options->streams, options->announcers);
    run->address = read_address(options->to);
    run->request = make_request(options->to, options->path, options->headers, options->body_file, 0);
    if (run->request.length > LARGEST_REQUEST_BYTES)
        fail("the request is too long");
    run->poll = epoll_create1(0);
    if (run->poll < 0)
        fail("epoll_create1: %s", strerror(errno));
    struct epoll_event commands = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(run->poll, EPOLL_CTL_ADD, STDIN_FILENO, &commands) != 0)
        fail("standard input is to be a pipe: %s", strerror(errno));
    run->streams = checked(calloc((size_t)options->streams, sizeof *run->streams));
    if (options->announce_to == NULL)
        return;
    run->announced_to = (struct service){
        .address = read_address(options->announce_to),
        .request = make_request(options->announce_to, options->announce_path, options->headers,
                                options->announce_body_file, 0),
        .poll = run->poll,
    };
    run->announcers = checked(calloc((size_t)options->announcers, sizeof *run->announcers));
    for (int place = 0; place < options->announcers; place++) {
        run->announcers[place].service = &run->announced_to;
        run->announcers[place].socket = -1;
        run->announcers[place].state = FINISHED;
    }
}

int main(int argument_count, char **arguments)
{
    static struct run run;
    program_name = "streams";
    run.options = read_watching(argument_count, arguments);
    begin(&run);
    open_all(&run);
    report(&run);
    while (!run.is_told_to_end) {
        if (run.command[0] != '\0')
            do_command(&run);
        else
            attend_all(&run, now() + NANOSECONDS);
    }
    return 0;
}
